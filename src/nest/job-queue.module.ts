import {
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  Module,
  type Provider,
  type Type,
} from '@nestjs/common';
import { PROPERTY_DEPS_METADATA, SELF_DECLARED_DEPS_METADATA } from '@nestjs/common/constants.js';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { z } from 'zod';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show, showName } from '../queue/errors/show.js';
import type { JobQueue } from '../queue/job-queue.js';
import { checkQueueName, isQueueName } from '../queue/validation/names.js';
import { checkFlag, checkNestModules, checkOptions } from '../queue/validation/validate-options.js';
import { DEFAULT_CONNECTION, checkConnectionName, partToken } from './connection/connection-tokens.js';
import { declaredNames, getQueueToken, serviceProviders } from './connection/inject-queue.decorator.js';
import type { QueueRegistry } from './connection/queue-registry.js';
import type { HandlerRegistry } from './handlers/handler-registry.js';
import {
  JobQueueCoreModule,
  type JobQueueModuleAsyncOptions,
  type JobQueueModuleExtras,
  asyncCoreModule,
} from './job-queue-core.module.js';
import type { JobQueueModuleOptions } from './job-queue.options.js';

/** The module that feature modules import if the app's module is not global. */
@Module({})
class JobQueueFeatureModule {}

/** Options of `forFeature`, for queues of a named connection. */
export interface JobQueueFeatureOptions {
  /** The names of the queues. */
  queues: readonly string[];
  /** The name of the connection. @default the `forRoot` without a name */
  connection?: string | undefined;
}

/**
 * Background jobs for a Nest app. It finds `@JobHandler` providers, runs their jobs, and provides JobQueueService and
 * the queues of `@InjectQueue`. Imported in the root module, once for each Redis server.
 *
 * @example
 * \@Module({ imports: [JobQueueModule.forRoot()], providers: [EmailHandler] })
 * export class AppModule {}
 */
@Module({})
export class JobQueueModule {
  /** @internal */
  constructor(ref: ModuleRef) {
    checkIsSetUp(ref);
  }

  /**
   * Sets up the queues of one Redis server.
   *
   * @param options all optional; a bad one stops the boot with an InvalidOptionError
   * @throws InvalidOptionError if they are no object, such as a URL
   * @example JobQueueModule.forRoot({ redis: 'redis://cache:6379', maxAttempts: 5 })
   * @example JobQueueModule.forRoot({ name: 'billing', redis: 'redis://billing:6379' })
   */
  static forRoot(options: JobQueueModuleOptions & JobQueueModuleExtras = {}): DynamicModule {
    checkIsObject('JobQueueModule.forRoot', "{ redis: 'redis://localhost:6379' }", options);
    const queues: unknown = options.queues;
    return facade(options, JobQueueCoreModule.forRoot(options), Object.keys(queues ?? {}).filter(isQueueName));
  }

  /**
   * Sets up the queues of one Redis server, with options from providers.
   *
   * @throws InvalidOptionError unless exactly one of useFactory, useClass and useExisting is given. Also for another
   *   option: one of `forRoot` would be ignored here
   * @example
   * JobQueueModule.forRootAsync({
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ({ redis: config.getOrThrow('REDIS_URL') }),
   * })
   */
  static forRootAsync(options: JobQueueModuleAsyncOptions): DynamicModule {
    const example = "{ useFactory: () => ({ redis: 'redis://localhost:6379' }) }";
    checkIsObject('JobQueueModule.forRootAsync', example, options);
    const ways = (['useFactory', 'useClass', 'useExisting'] as const).filter((way) => options[way] !== undefined);
    if (ways.length !== 1) {
      throw new InvalidOptionError(
        'JobQueueModule.forRootAsync',
        'one of useFactory, useClass and useExisting',
        ways.join(' and ') || 'none',
      );
    }
    const other = Object.keys(options).find((key) => !ASYNC_OPTIONS.includes(key));
    if (other !== undefined) {
      const remedy = `Return it from ${ways[0]!}, if it is an option of forRoot.`;
      throw new InvalidOptionError(
        `JobQueueModule.forRootAsync.${showName(other)}`,
        ASYNC_OPTIONS.join(', '),
        show(other),
        remedy,
      );
    }
    checkNestModules('JobQueueModule.forRootAsync.imports', options.imports);
    return facade(options, asyncCoreModule(options), []);
  }

  /**
   * Provides queues and JobQueueService in a feature module. Needed with `forRoot({ isGlobal: false })`, and in lazily
   * loaded modules.
   *
   * @throws InvalidOptionError for a name that cannot be part of a key
   * @example imports: [JobQueueModule.forFeature('video', 'email')]
   * @example imports: [JobQueueModule.forFeature({ connection: 'billing', queues: ['invoice'] })]
   */
  static forFeature(...names: string[] | [JobQueueFeatureOptions]): DynamicModule {
    const { queues, connection = DEFAULT_CONNECTION } = featureOf(names);
    queues.forEach((name) => checkQueueName(name));
    const queueProviders = queues.map((name) => queueProvider(name, checkConnectionName(FOR_FEATURE, connection)));
    return exporting(JobQueueFeatureModule, () => [
      ...queueProviders,
      ...(connection === DEFAULT_CONNECTION ? serviceProviders() : []),
    ]);
  }
}

/** The options of `forRootAsync`. */
const ASYNC_OPTIONS: readonly string[] = [
  'useFactory',
  'useClass',
  'useExisting',
  'inject',
  'imports',
  'provideInjectionTokensFrom',
  'isGlobal',
  'name',
] satisfies (keyof JobQueueModuleAsyncOptions)[];

/** @throws InvalidOptionError for a URL or a list in the place of the options, which Nest would spread */
function checkIsObject(subject: string, example: string, options: unknown): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new InvalidOptionError(subject, `an object of options, such as ${example}`, show(options));
  }
}

/** A token that an app has once a `forRoot` is among its imports. */
const SET_UP = 'nest-job-queue:set-up';

/**
 * Checks that the app imports a `forRoot`. If it imports the class alone, Nest makes a module without providers.
 *
 * @throws InvalidOptionError
 */
function checkIsSetUp(ref: ModuleRef): void {
  try {
    ref.get(SET_UP, { strict: false });
  } catch {
    throw new InvalidOptionError(
      'imports',
      'JobQueueModule.forRoot() or JobQueueModule.forRootAsync() in the root module',
      'JobQueueModule alone',
    );
  }
}

const FOR_FEATURE = 'JobQueueModule.forFeature';

function featureOf(names: readonly (string | JobQueueFeatureOptions)[]): JobQueueFeatureOptions {
  const [first] = names;
  return typeof first === 'object' && first !== null
    ? checkOptions(FOR_FEATURE, featureSchema, first)
    : { queues: names as readonly string[] };
}

const featureSchema = z.strictObject(
  {
    queues: z.array(z.string({ error: "expected a queue's name" }), { error: 'expected a list of queue names' }),
    connection: z.string({ error: 'expected the name of a connection' }).optional(),
  },
  { error: 'expected names of queues, or { queues, connection }' },
);

/**
 * Returns the injectable parts of a connection. The service of the connection without a name is injected by its class.
 * Queues have tokens.
 */
function facade(extras: JobQueueModuleExtras, core: DynamicModule, queues: readonly string[]): DynamicModule {
  const { isGlobal = true, name = DEFAULT_CONNECTION } = extras ?? {};
  checkConnectionName('JobQueueModule.forRoot.name', name);
  checkFlag('JobQueueModule.forRoot.isGlobal', isGlobal);
  const parts = exporting(JobQueueModule, () => [
    ...(name === DEFAULT_CONNECTION ? serviceProviders() : []),
    ...queues.map((queue) => queueProvider(queue, name)),
    ...[...declaredNames(name)]
      .filter((queue) => !queues.includes(queue))
      .map((queue) => declaredQueueProvider(queue, name)),
    { provide: SET_UP, useValue: true },
  ]);
  return Object.defineProperties(
    { module: JobQueueModule, global: isGlobal, imports: [core] },
    Object.getOwnPropertyDescriptors(parts),
  );
}

/**
 * Returns a module that exports its providers. They are listed when Nest reads the definition: by then all files are
 * loaded.
 */
function exporting(module: Type, listed: () => (Provider & { provide: InjectionToken })[]): DynamicModule {
  return {
    module,
    get providers() {
      return listed();
    },
    get exports() {
      return listed().map(({ provide }) => provide);
    },
  };
}

/**
 * Returns the provider of a queue that a class of the process declares, perhaps a class of another app. An app
 * maintains the queue only if a class of this app injects it.
 */
function declaredQueueProvider(name: string, connection: string): FactoryProvider<JobQueue> {
  const token = getQueueToken(name, connection);
  return {
    provide: token,
    useFactory: (queues: QueueRegistry, handlers: HandlerRegistry, modules: ModulesContainer) =>
      handlers.injectedWhole(name) ?? (isInjected(token, modules) ? queues.injected(name) : queues.reference(name)),
    inject: [partToken('queues', connection), partToken('handlers', connection), ModulesContainer],
  };
}

/** Returns a provider of a queue that this app asks for. */
function queueProvider(name: string, connection: string): FactoryProvider<JobQueue> {
  const token = getQueueToken(name, connection);
  return {
    provide: token,
    useFactory: (queues: QueueRegistry, handlers: HandlerRegistry, modules: ModulesContainer) =>
      handlers.injectedWhole(name) ?? (isInjected(token, modules) ? queues.injected(name) : queues.queue(name)),
    inject: [partToken('queues', connection), partToken('handlers', connection), ModulesContainer],
  };
}

/**
 * The tokens that the classes and factories of an app inject, and the number of its modules at that time. A lazy module
 * loads later.
 */
const askedTokens = new WeakMap<ModulesContainer, { modules: number; tokens: ReadonlySet<unknown> }>();

/** Returns whether a class or a factory of the app asks for a token. */
function isInjected(token: InjectionToken, modules: ModulesContainer): boolean {
  let asked = askedTokens.get(modules);
  if (asked?.modules !== modules.size) {
    asked = { modules: modules.size, tokens: new Set(allAsked(modules)) };
    askedTokens.set(modules, asked);
  }
  return asked.tokens.has(token);
}

function allAsked(modules: ModulesContainer): unknown[] {
  const wrappers = [...modules.values()].flatMap(({ providers, controllers, injectables }) => [
    ...providers.values(),
    ...controllers.values(),
    ...injectables.values(),
  ]);
  // An optional dependency of a factory is { token, optional }.
  return wrappers.flatMap(({ metatype, inject }) =>
    (inject ?? tokensOf(metatype)).flatMap((each) => [each, (each as { token?: unknown } | null)?.token]),
  );
}

/** Returns the tokens that `@Inject` names in a class. */
function tokensOf(type: unknown): unknown[] {
  if (typeof type !== 'function') {
    return [];
  }
  const ofConstructor = listOf<{ param: unknown }>(Reflect.getMetadata(SELF_DECLARED_DEPS_METADATA, type));
  const ofProperties = listOf<{ type: unknown }>(Reflect.getMetadata(PROPERTY_DEPS_METADATA, type));
  return [...ofConstructor.map(({ param }) => param), ...ofProperties.map((property) => property.type)];
}

function listOf<Entry>(metadata: unknown): Entry[] {
  return Array.isArray(metadata) ? (metadata as Entry[]) : [];
}
