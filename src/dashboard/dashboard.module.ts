import {
  Inject,
  Module,
  Optional,
  type DynamicModule,
  type InjectionToken,
  type OnApplicationBootstrap,
  type OptionalFactoryDependency,
  type Provider,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { checkNestModules } from '../queue/validation/validate-options.js';
import { partToken } from '../nest/connection/connection-tokens.js';
import { QueueRegistry } from '../nest/connection/queue-registry.js';
import { JobQueueService } from '../nest/service/job-queue.service.js';
import { BulkRuns } from './actions/bulk-runs.js';
import { JobActions } from './actions/job-actions.js';
import { LogReader } from './actions/log-reader.js';
import { RunStore } from './actions/run-store.js';
import { JobDescriber } from './views/job-describer.js';
import { KnownQueues } from './api/known-queue.js';
import { Responder } from './api/responder.js';
import { ScheduleEditor } from './api/schedules/schedule-editor.js';
import { RouteRunner } from './api/route-runner.js';
import {
  checkAsyncOptions,
  checkDashboardNames,
  hasNoGuard,
  partOptions,
  resolveDashboardOptions,
  resolveMount,
  type DashboardMount,
  type DashboardOptions,
  type ResolvedMount,
} from './dashboard-options.js';
import { HistoryCache } from './live/history-cache.js';
import { OverviewReader } from './live/overview-reader.js';
import { SentStates } from './live/sent-states.js';
import { SharedReads } from './live/shared-reads.js';
import { SnapshotFeed } from './live/snapshot-feed.js';
import { ShownQueues } from './shown-queues.js';
import { mountControllers, prefixOf } from './mount-controllers.js';
import { Assets } from './page/assets.js';
import { JobSearch } from './search/job-search.js';
import { AccessGuard } from './security/access.guard.js';
import { LinkGuard } from './security/link-guard.js';
import { LinkLog } from './security/link-log.js';
import { Permissions } from './security/permissions.js';
import { ToldErrors } from './told-errors.js';
import { Redactor } from './security/redactor.js';
import { DASHBOARD_MOUNT, DASHBOARD_OPTIONS, DASHBOARD_RAW_OPTIONS } from './tokens.js';

/** The options of `forRootAsync`. Those of `DashboardMount` are set when the module is declared. */
export interface JobQueueDashboardAsyncOptions extends DashboardMount {
  /** Makes the options. */
  useFactory(...injected: never[]): DashboardOptions | Promise<DashboardOptions>;
  /** The arguments of the factory, in order. */
  inject?: (InjectionToken | OptionalFactoryDependency)[] | undefined;
}

const PROVIDERS: Provider[] = [
  { provide: DASHBOARD_OPTIONS, useFactory: resolveDashboardOptions, inject: [DASHBOARD_RAW_OPTIONS] },
  AccessGuard,
  Assets,
  BulkRuns,
  HistoryCache,
  JobActions,
  JobDescriber,
  JobSearch,
  KnownQueues,
  LinkGuard,
  LinkLog,
  LogReader,
  OverviewReader,
  Permissions,
  Redactor,
  Responder,
  RouteRunner,
  RunStore,
  ScheduleEditor,
  SentStates,
  SharedReads,
  ShownQueues,
  SnapshotFeed,
  ToldErrors,
];

/**
 * A page to look at the queues and to steer them. It is served by the app's own HTTP adapter, behind the app's guards.
 *
 * @example
 * \@Module({
 *   imports: [JobQueueModule.forRoot(), JobQueueDashboardModule.forRoot({ path: 'queues', guards: [AdminGuard] })],
 * })
 * export class AppModule {}
 */
@Module({})
export class JobQueueDashboardModule implements OnApplicationBootstrap {
  private readonly mount: ResolvedMount;

  /**
   * Called by Nest.
   *
   * @throws InvalidOptionError where an app imports the class alone, or has no guard in production
   * @internal
   */
  constructor(
    @Optional() private readonly linkLog?: LinkLog,
    @Optional() @Inject(DASHBOARD_MOUNT) mount?: ResolvedMount,
    @Optional() private readonly ref?: ModuleRef,
  ) {
    if (!mount) {
      throw new InvalidOptionError(
        'imports',
        'JobQueueDashboardModule.forRoot() or JobQueueDashboardModule.forRootAsync()',
        'JobQueueDashboardModule alone',
      );
    }
    if (hasNoGuard(mount) && process.env.NODE_ENV === 'production') {
      throw new InvalidOptionError(
        'JobQueueDashboardModule.guards',
        'a guard where NODE_ENV is production',
        'none',
        'Set `guards`, or `allowRemote: true` where a global guard or a proxy protects the dashboard.',
      );
    }
    this.mount = mount;
  }

  /**
   * Mounts the dashboard.
   *
   * @throws InvalidOptionError that names the option
   * @example JobQueueDashboardModule.forRoot({ guards: [AdminGuard], readOnly: true })
   */
  static forRoot(options: DashboardMount & DashboardOptions = {}): DynamicModule {
    checkDashboardNames(options);
    const { mount, options: rest } = partOptions(options);
    return declare(mount, [{ provide: DASHBOARD_RAW_OPTIONS, useValue: resolveDashboardOptions(rest) }]);
  }

  /**
   * Mounts the dashboard, with options from providers.
   *
   * @throws InvalidOptionError that names the option. At boot, if the factory returns no options
   * @example
   * JobQueueDashboardModule.forRootAsync({
   *   guards: [AdminGuard],
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => ({ readOnly: config.get('NODE_ENV') === 'production' }),
   * })
   */
  static forRootAsync(options: JobQueueDashboardAsyncOptions): DynamicModule {
    checkAsyncOptions(options);
    const { useFactory, inject = [], ...mount } = options;
    return declare(mount, [{ provide: DASHBOARD_RAW_OPTIONS, useFactory, inject }]);
  }

  /**
   * Called by Nest.
   *
   * @throws InvalidOptionError if the global prefix is before a part of the routes only
   */
  onApplicationBootstrap(): void {
    const prefix = prefixOf(this.ref!, this.mount);
    if (hasNoGuard(this.mount)) {
      this.linkLog?.announce(this.mount, prefix);
    }
  }
}

function declare(mount: DashboardMount, options: Provider[]): DynamicModule {
  const { imports = [] } = mount;
  checkNestModules('JobQueueDashboardModule.imports', imports);
  const resolved = resolveMount(mount);
  // Injected by the name of the part, which is global. So the module need not import the queues' module.
  const jobs = { provide: JobQueueService, useExisting: partToken('service', resolved.connection) };
  const queues = { provide: QueueRegistry, useExisting: partToken('queues', resolved.connection) };
  return {
    module: JobQueueDashboardModule,
    imports: imports,
    controllers: mountControllers(resolved),
    providers: [{ provide: DASHBOARD_MOUNT, useValue: resolved }, jobs, queues, ...options, ...PROVIDERS],
  };
}
