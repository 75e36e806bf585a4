import { ApplicationConfig, NestContainer, type ModulesContainer } from '@nestjs/core';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { EnhancerKind } from '../options/module-parts.js';

/** The modules of the app, with the global enhancers that apply to jobs. Nest looks both up in a container. */
export class EnhancerContainer extends NestContainer {
  /** The global enhancers that hold for jobs. */
  readonly config: ApplicationConfig;

  /** @throws InvalidOptionError for a scoped global enhancer */
  constructor(
    private readonly appModules: ModulesContainer,
    app: ApplicationConfig,
    kinds: readonly EnhancerKind[],
  ) {
    const config = configOf(app, kinds);
    super(config);
    this.config = config;
  }

  override getModules(): ModulesContainer {
    return this.appModules;
  }

  /** Returns whether any global enhancer holds for jobs. */
  get hasGlobals(): boolean {
    const { config } = this;
    return [
      config.getGlobalGuards(),
      config.getGlobalInterceptors(),
      config.getGlobalPipes(),
      config.getGlobalFilters(),
    ].some((list) => list.length > 0);
  }
}

/** @throws InvalidOptionError for a scoped global enhancer, which Nest creates only for its own requests */
function configOf(app: ApplicationConfig, kinds: readonly EnhancerKind[]): ApplicationConfig {
  const config = new ApplicationConfig();
  const scoped = {
    guards: app.getGlobalRequestGuards(),
    interceptors: app.getGlobalRequestInterceptors(),
    pipes: app.getGlobalRequestPipes(),
    filters: app.getGlobalRequestFilters(),
  };
  const take = {
    guards: () => config.useGlobalGuards(...app.getGlobalGuards()),
    interceptors: () => config.useGlobalInterceptors(...app.getGlobalInterceptors()),
    pipes: () => config.useGlobalPipes(...app.getGlobalPipes()),
    filters: () => config.useGlobalFilters(...app.getGlobalFilters()),
  };
  for (const kind of kinds) {
    if (scoped[kind].length > 0) {
      throw new InvalidOptionError(
        'JobQueueModule.forRoot.globalEnhancers',
        `global ${kind} of the default scope`,
        `a scoped one, ${scoped[kind][0]!.metatype?.name ?? 'of a factory'}`,
        `Leave ${kind} out, or put it on the handlers that need it.`,
      );
    }
    take[kind]();
  }
  return config;
}
