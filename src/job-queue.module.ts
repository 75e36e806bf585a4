import {
  ConfigurableModuleBuilder,
  Module,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule, ModuleRef, ModulesContainer } from '@nestjs/core';
import { InvalidOptionError } from './queue/model/errors.js';
import { BootAudit } from './nest/lifecycle/boot-audit.js';
import { HandlerExplorer } from './nest/handlers/handler-explorer.js';
import { HandlerRegistry } from './nest/handlers/handler-registry.js';
import { injectedQueueProviders } from './nest/connection/inject-queue.decorator.js';
import {
  JOB_QUEUE_OPTIONS,
  resolveModuleOptions,
  type JobQueueModuleOptions,
  type ResolvedModuleOptions,
} from './nest/options/job-queue.options.js';
import { JobQueueService } from './nest/service/job-queue.service.js';
import { JobListeners } from './nest/handlers/job-listeners.js';
import { LifecycleOrder, LifecycleOrderModule } from './nest/lifecycle/lifecycle-order.js';
import { QueueRegistry } from './nest/connection/queue-registry.js';
import { QuietLogger } from './nest/connection/quiet-logger.js';
import { MaintenanceScheduler } from './nest/lifecycle/maintenance.scheduler.js';
import { ModuleMiddleware } from './nest/lifecycle/module-middleware.js';
import { RedisConnection } from './nest/connection/redis-connection.js';
import { STORE_OVERRIDE, type ServerConnection, type StoreOverride } from './nest/connection/server-connection.js';
import { FailureLog } from './worker/attempt/failure-log.js';
import { WorkerLifecycle } from './nest/lifecycle/worker-lifecycle.js';

/** What is beside the options: whether every module of the app can inject the service and the queues. Default true. */
export interface JobQueueModuleExtras {
  isGlobal?: boolean;
}

/** How `forRootAsync` gets its options: exactly one of `useFactory` (with `inject`), `useClass` and `useExisting`. */
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
  .setExtras<JobQueueModuleExtras>({ isGlobal: true }, (definition, { isGlobal }) => ({
    ...definition,
    global: isGlobal,
  }))
  .build();

const RESOLVED_OPTIONS = Symbol.for('nest-job-queue:resolved-options');

const providers: Provider[] = [
  {
    provide: RESOLVED_OPTIONS,
    useFactory: (options: JobQueueModuleOptions, override?: StoreOverride) => {
      const resolved = resolveModuleOptions(options);
      return override ? override.adjust(resolved) : resolved;
    },
    inject: [JOB_QUEUE_OPTIONS, { token: STORE_OVERRIDE, optional: true }],
  },
  QuietLogger,
  {
    provide: RedisConnection,
    useFactory: (
      { redis }: ResolvedModuleOptions,
      logger: QuietLogger,
      override?: StoreOverride,
    ): ServerConnection => override?.connect(logger) ?? new RedisConnection(redis, logger),
    inject: [RESOLVED_OPTIONS, QuietLogger, { token: STORE_OVERRIDE, optional: true }],
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
  HandlerRegistry,
  JobListeners,
  {
    provide: BootAudit,
    useFactory: ({ audit, maintenance }: ResolvedModuleOptions, queues: QueueRegistry, logger: QuietLogger) =>
      new BootAudit(audit, maintenance !== false, queues, logger),
    inject: [RESOLVED_OPTIONS, QueueRegistry, QuietLogger],
  },
  {
    provide: MaintenanceScheduler,
    useFactory: (
      { maintenance, logFailures, version }: ResolvedModuleOptions,
      queues: QueueRegistry,
      modules: ModulesContainer,
      logger: QuietLogger,
      listeners: JobListeners,
    ) => {
      const failures = new FailureLog(logger, logFailures);
      return new MaintenanceScheduler(maintenance, queues, modules, logger, listeners, failures, version);
    },
    inject: [RESOLVED_OPTIONS, QueueRegistry, ModulesContainer, QuietLogger, JobListeners],
  },
  {
    provide: WorkerLifecycle,
    useFactory: (...parts: ConstructorParameters<typeof WorkerLifecycle>) => new WorkerLifecycle(...parts),
    inject: [
      LifecycleOrder,
      RESOLVED_OPTIONS,
      RedisConnection,
      QueueRegistry,
      HandlerRegistry,
      MaintenanceScheduler,
      QuietLogger,
      JobListeners,
      BootAudit,
      ModuleMiddleware,
    ],
  },
  JobQueueService,
];

/**
 * Background jobs for a Nest app: finds its `@JobHandler` providers, runs their jobs, and provides JobQueueService and
 * the queues of `@InjectQueue`. Imported once, in the root module.
 *
 * @example
 * @Module({ imports: [JobQueueModule.forRoot()], providers: [EmailHandler] })
 * export class AppModule {}
 */
@Module({
  imports: [DiscoveryModule, LifecycleOrderModule],
  providers,
  // The registry and the lifecycle are for the health indicator and the other entry points.
  exports: [JobQueueService, QueueRegistry, WorkerLifecycle],
})
export class JobQueueModule extends ConfigurableModuleClass {
  /**
   * @param options all optional; a bad one stops the boot with an InvalidOptionError
   * @example JobQueueModule.forRoot({ redis: 'redis://cache:6379', maxAttempts: 5 })
   */
  static override forRoot(options: JobQueueModuleOptions & JobQueueModuleExtras = {}): DynamicModule {
    return withInjectedQueues(super.forRoot(options));
  }

  /**
   * @throws InvalidOptionError unless exactly one of useFactory, useClass and useExisting is given
   * @example
   * JobQueueModule.forRootAsync({
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ({ redis: config.getOrThrow('REDIS_URL') }),
   * })
   */
  static override forRootAsync(options: JobQueueModuleAsyncOptions): DynamicModule {
    const ways = (['useFactory', 'useClass', 'useExisting'] as const).filter((way) => options[way] !== undefined);
    if (ways.length !== 1) {
      throw new InvalidOptionError(
        'JobQueueModule.forRootAsync',
        'one of useFactory, useClass and useExisting',
        ways.join(' and ') || 'none',
      );
    }
    return withInjectedQueues(super.forRootAsync(options));
  }
}

/**
 * Adds a provider for each queue that some class injects. They are listed when Nest reads the definition, which is after
 * all files are loaded, and not when `forRoot` is called.
 */
function withInjectedQueues(definition: DynamicModule): DynamicModule {
  return {
    ...definition,
    get providers() {
      return [...(definition.providers ?? []), ...injectedQueueProviders()];
    },
    get exports() {
      return [...(definition.exports ?? []), ...injectedQueueProviders().map(({ provide }) => provide)];
    },
  };
}
