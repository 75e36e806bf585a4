import {
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  Module,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule, LazyModuleLoader, ModuleRef, ModulesContainer } from '@nestjs/core';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import {
  CONNECTION_NAME,
  type ConnectionPart,
  DEFAULT_CONNECTION,
  LIFECYCLE,
  partToken,
} from './connection/connection-tokens.js';
import {
  connectInMemory,
  RedisConnection,
  STORE_OVERRIDE,
  type ServerConnection,
  type StoreOverride,
} from './connection/server-connection.js';
import { QueueRegistry } from './connection/queue-registry.js';
import { QuietLogger } from './connection/quiet-logger.js';
import { HandlerBinder } from './handlers/handler-binder.js';
import { HandlerExplorer } from './handlers/handler-explorer.js';
import { HandlerRegistry } from './handlers/handler-registry.js';
import { JobListeners } from './handlers/job-listeners.js';
import { type AuditParts, BootAudit } from './lifecycle/boot-audit.js';
import { LifecycleOrder, LifecycleOrderModule, type LifecycleParts } from './lifecycle/lifecycle-order.js';
import { type MaintenanceParts, MaintenanceScheduler } from './lifecycle/maintenance.scheduler.js';
import { ModuleMiddleware } from './lifecycle/module-middleware.js';
import { UnusedNames } from './lifecycle/unused-names.js';
import { WorkerLifecycle } from './lifecycle/worker-lifecycle.js';
import {
  JOB_QUEUE_OPTIONS,
  type JobQueueModuleOptions,
  type JobQueueOptionsFactory,
  RESOLVED_OPTIONS,
  type ResolvedModuleOptions,
  resolveModuleOptions,
  IN_MEMORY,
} from './job-queue.options.js';
import { JobQueueService } from './service/job-queue.service.js';
import { VerdictWatch, type VerdictWatchParts } from './lifecycle/verdict-watch.js';

/** Returns a provider of a class that takes its dependencies as one object: the token of each part. */
function provideByParts<Parts extends object>(
  provide: new (parts: Parts) => object,
  tokens: Readonly<Record<keyof Parts, InjectionToken>>,
): FactoryProvider {
  const names = Object.keys(tokens);
  return {
    provide,
    useFactory: (...found: unknown[]) =>
      new provide(Object.fromEntries(names.map((name, i) => [name, found[i]])) as Parts),
    inject: Object.values(tokens),
  };
}

/** The options of the module beside those of the queue. */
export interface JobQueueModuleExtras {
  /** True if every module of the app can inject the service and the queues. @default true; else see `forFeature` */
  isGlobal?: boolean | undefined;
  /**
   * The name of this connection, in an app with several Redis servers; one `forRoot` may be without. Its queues are injected by
   * `@InjectQueue(queue, name)`, its handlers say `connection: name`.
   */
  name?: string | undefined;
}

/** The options of `forRootAsync`: exactly one of `useFactory` (with `inject`), `useClass` and `useExisting`. */
export type JobQueueModuleAsyncOptions = ConfigurableModuleAsyncOptions<
  JobQueueModuleOptions,
  'createJobQueueOptions'
> &
  JobQueueModuleExtras;

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<JobQueueModuleOptions>({
  optionsInjectionToken: JOB_QUEUE_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createJobQueueOptions')
  .setExtras<JobQueueModuleExtras>(
    { isGlobal: true, name: DEFAULT_CONNECTION }, // Nest treats all other keys as options
    ({ providers: given = [], ...definition }, { name = DEFAULT_CONNECTION }) => ({
      ...definition,
      global: true,
      providers: [
        ...given,
        { provide: CONNECTION_NAME, useValue: name },
        { provide: OPTIONS_SOURCE, useValue: given.some(isMadeOptions) ? 'forRootAsync' : 'forRoot' },
        ...partProviders(name),
      ],
      exports: PARTS.map((part) => partToken(part, name)),
    }),
  )
  .build();

type OptionsSource = 'forRoot' | 'forRootAsync';

/** Injects the method of the module that its options come from. */
const OPTIONS_SOURCE = Symbol('nest-job-queue:options-source');

/** Returns whether a provider makes the options when the app boots. */
function isMadeOptions(provider: Provider): boolean {
  return typeof provider === 'object' && provider.provide === JOB_QUEUE_OPTIONS && !('useValue' in provider);
}

const PARTS: readonly ConnectionPart[] = ['service', 'queues', 'handlers', 'lifecycle', 'listeners'];

/** Returns the parts of a connection under its own tokens, because an app may have several connections. */
function partProviders(name: string): Provider[] {
  return [
    {
      provide: partToken('service', name),
      useFactory: (...parts: ConstructorParameters<typeof JobQueueService>) => new JobQueueService(...parts),
      inject: [QueueRegistry, HandlerRegistry, UnusedNames, WorkerLifecycle],
    },
    { provide: partToken('queues', name), useExisting: QueueRegistry },
    { provide: partToken('handlers', name), useExisting: HandlerRegistry },
    { provide: partToken('lifecycle', name), useExisting: WorkerLifecycle },
    { provide: partToken('listeners', name), useExisting: JobListeners },
  ];
}

/** @throws InvalidOptionError if a factory returned no options, such as without a `return` */
function checkMade(source: OptionsSource, options: unknown): void {
  if (source === 'forRootAsync' && (typeof options !== 'object' || options === null)) {
    throw new InvalidOptionError(
      'JobQueueModule.forRootAsync',
      'options from useFactory or createJobQueueOptions',
      show(options),
    );
  }
}

const providers: Provider[] = [
  {
    provide: RESOLVED_OPTIONS,
    useFactory: (options: JobQueueModuleOptions, source: OptionsSource, override?: StoreOverride) => {
      checkMade(source, options);
      const resolved = resolveModuleOptions(options);
      return override ? override.adjust(resolved) : resolved;
    },
    inject: [JOB_QUEUE_OPTIONS, OPTIONS_SOURCE, { token: STORE_OVERRIDE, optional: true }],
  },
  {
    provide: QuietLogger,
    useFactory: (connection: string) => new QuietLogger(connection),
    inject: [CONNECTION_NAME],
  },
  {
    provide: RedisConnection,
    useFactory: (
      { redis }: ResolvedModuleOptions,
      logger: QuietLogger,
      app: ModulesContainer,
      override?: StoreOverride,
    ): ServerConnection | Promise<ServerConnection> => {
      if (override) return override.connect(logger);
      return redis === IN_MEMORY ? connectInMemory(app, logger) : new RedisConnection(redis, logger);
    },
    inject: [RESOLVED_OPTIONS, QuietLogger, ModulesContainer, { token: STORE_OVERRIDE, optional: true }],
  },
  {
    provide: ModuleMiddleware,
    useFactory: ({ middleware }: ResolvedModuleOptions, ref: ModuleRef) => new ModuleMiddleware(middleware, ref),
    inject: [RESOLVED_OPTIONS, ModuleRef],
  },
  {
    provide: QueueRegistry,
    useFactory: (options: ResolvedModuleOptions, redis: ServerConnection, { list }: ModuleMiddleware) =>
      new QueueRegistry(options, redis, list),
    inject: [RESOLVED_OPTIONS, RedisConnection, ModuleMiddleware],
  },
  HandlerExplorer,
  HandlerBinder,
  HandlerRegistry,
  JobListeners,
  {
    provide: UnusedNames,
    useFactory: (queues: QueueRegistry, handlers: HandlerRegistry, logger: QuietLogger) =>
      new UnusedNames(queues, handlers, logger),
    inject: [QueueRegistry, HandlerRegistry, QuietLogger],
  },
  provideByParts<AuditParts>(BootAudit, {
    options: RESOLVED_OPTIONS,
    queues: QueueRegistry,
    logger: QuietLogger,
    names: UnusedNames,
    handlers: HandlerRegistry,
  }),
  provideByParts<MaintenanceParts>(MaintenanceScheduler, {
    options: RESOLVED_OPTIONS,
    queues: QueueRegistry,
    modules: ModulesContainer,
    logger: QuietLogger,
    listeners: JobListeners,
    middleware: ModuleMiddleware,
    connection: CONNECTION_NAME,
  }),
  provideByParts<VerdictWatchParts>(VerdictWatch, {
    options: RESOLVED_OPTIONS,
    queues: QueueRegistry,
    logger: QuietLogger,
  }),
  provideByParts<LifecycleParts>(WorkerLifecycle, {
    hooks: LifecycleOrder,
    options: RESOLVED_OPTIONS,
    redis: RedisConnection,
    queues: QueueRegistry,
    handlers: HandlerRegistry,
    maintenance: MaintenanceScheduler,
    verdicts: VerdictWatch,
    logger: QuietLogger,
    listeners: JobListeners,
    audit: BootAudit,
    middleware: ModuleMiddleware,
    lazyModules: LazyModuleLoader,
    connection: CONNECTION_NAME,
  }),
  { provide: LIFECYCLE, useExisting: WorkerLifecycle },
];

/** One connection with its queues, handlers and worker. Global, but other modules find only its parts, by their tokens. */
@Module({ imports: [DiscoveryModule, LifecycleOrderModule], providers })
export class JobQueueCoreModule extends ConfigurableModuleClass {}

/** Returns the core module of `forRootAsync`. It names a class without the method, which Nest's error does not. */
export function asyncCoreModule(options: JobQueueModuleAsyncOptions): DynamicModule {
  const core = JobQueueCoreModule.forRootAsync(options);
  if (options.useFactory) {
    return core;
  }
  const useFactory = (maker: unknown) => {
    checkMaker(options.useClass ? 'useClass' : 'useExisting', maker);
    return maker.createJobQueueOptions();
  };
  return {
    ...core,
    providers: core.providers!.map((each) => (isMadeOptions(each) ? { ...each, useFactory } : each) as Provider),
  };
}

/** @throws InvalidOptionError for an object without the method */
function checkMaker(way: string, maker: unknown): asserts maker is JobQueueOptionsFactory {
  if (typeof (maker as JobQueueOptionsFactory | null | undefined)?.createJobQueueOptions !== 'function') {
    const isObject = typeof maker === 'object' && maker !== null;
    throw new InvalidOptionError(
      `JobQueueModule.forRootAsync.${way}`,
      'a class with createJobQueueOptions()',
      isObject ? `${maker.constructor.name} without this method` : show(maker),
    );
  }
}
