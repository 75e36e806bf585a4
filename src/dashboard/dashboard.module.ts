import {
  Inject,
  Module,
  Optional,
  type DynamicModule,
  type InjectionToken,
  type OnApplicationBootstrap,
  type OptionalFactoryDependency,
  type Provider,
  Controller,
  RequestMethod,
  UseGuards,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import { ModuleRef, type ApplicationConfig } from '@nestjs/core';
import { partToken } from '../nest/connection/connection-tokens.js';
import { QueueRegistry } from '../nest/connection/queue-registry.js';
import { containerOf } from '../nest/context/container.js';
import { JobQueueService } from '../nest/service/job-queue.service.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import { checkNestModules } from '../queue/validation/validate-options.js';
import { BulkRuns, RunStore } from './actions/bulk-runs.js';
import { JobActions } from './actions/job-actions.js';
import { LogReader, ActionsController, RunsController } from './api/actions.controller.js';
import { BatchesController } from './api/batches.controller.js';
import { GroupsController } from './api/groups.controller.js';
import { HistoryController, LimitsController, ProfileController } from './api/queue.controller.js';
import { JobController, JobsController, SearchController } from './api/jobs.controller.js';
import { LiveController } from './api/live.controller.js';
import { OutboxController } from './api/outbox.controller.js';
import { KnownQueues, Responder, RouteRunner } from './api/route.js';
import { ScheduleEditor, SchedulesController } from './api/schedules.controller.js';
import { SessionController } from './api/session.controller.js';
import { SharedLimitsController } from './api/shared-limits.controller.js';
import { TopicsController } from './api/topics.controller.js';
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
  DASHBOARD_MOUNT,
  DASHBOARD_OPTIONS,
  DASHBOARD_RAW_OPTIONS,
} from './dashboard-options.js';
import { HistoryCache } from './live/history-cache.js';
import { OverviewReader } from './live/overview-reader.js';
import { SentStates, SharedReads, SnapshotFeed } from './live/snapshot-feed.js';
import { Assets, PageController } from './page/page.controller.js';
import { JobSearch } from './job-search.js';
import { AccessGuard, LinkGuard, LinkLog, routeKindOf } from './security/access.guard.js';
import { Permissions } from './security/permissions.js';
import { Redactor } from './security/redactor.js';
import { ShownQueues } from './shown-queues.js';
import { ToldErrors } from './told-errors.js';
import { JobDescriber } from './views/job-describer.js';

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

const CONTROLLERS: readonly Type<object>[] = [
  PageController,
  SessionController,
  LiveController,
  BatchesController,
  GroupsController,
  HistoryController,
  JobsController,
  SearchController,
  JobController,
  ActionsController,
  LimitsController,
  ProfileController,
  OutboxController,
  RunsController,
  SchedulesController,
  SharedLimitsController,
  TopicsController,
];

/**
 * Makes controllers for one path, behind the app's guards. Each gets a new class, so that two dashboards of one app do
 * not share a path.
 */
export function mountControllers({ path, guards, decorators }: ResolvedMount): Type<object>[] {
  return CONTROLLERS.map((base) => {
    requireDeclaredRoutes(base);
    const mounted = { [base.name]: class extends base {} }[base.name]!;
    Controller({ path, version: VERSION_NEUTRAL })(mounted);
    UseGuards(AccessGuard, ...guards)(mounted);
    decorators.forEach((decorate) => decorate(mounted));
    copyInjections(base, mounted);
    return mounted;
  });
}

/**
 * Checks that each route of a controller declares its permissions.
 *
 * @throws Error that names the route
 */
export function requireDeclaredRoutes({ name, prototype }: Type<object>): void {
  for (const method of methodsOf(prototype as object)) {
    if (routeKindOf(method) === undefined) {
      throw new Error(
        `The route ${name}.${method.name} declares no permission. Declare it by Reads, Changes, or Serves.`,
      );
    }
  }
}

/**
 * Returns the global prefix of the app before the dashboard; '' where the app leaves it out there.
 *
 * @throws InvalidOptionError if the app leaves it out before a part of the routes. The page would not find its files
 */
function prefixOf(ref: ModuleRef, { path }: ResolvedMount): string {
  const config: ApplicationConfig | undefined = containerOf(ref).applicationConfig;
  const prefix = (config?.getGlobalPrefix() ?? '').replaceAll(/^\/|\/$/g, '');
  const excluded = prefix === '' ? [] : (config?.getGlobalPrefixOptions().exclude ?? []);
  const base = path.replaceAll(/^\/|\/$/g, '');
  const routes = CONTROLLERS.flatMap(({ prototype }) => routesOf(prototype as object));
  const without = routes.filter(({ path: route, method }) =>
    excluded.some(
      ({ requestMethod, pathRegex }) =>
        [RequestMethod.ALL, -1, method].includes(requestMethod) &&
        pathRegex.test(`/${base}${route && `/${route}`}`),
    ),
  );
  if (without.length > 0 && without.length < routes.length) {
    throw new InvalidOptionError(
      'setGlobalPrefix.exclude',
      `${show([base, `${base}/{*path}`])} for the dashboard, or none of both`,
      `${without.length} of its ${routes.length} routes excluded`,
    );
  }
  return without.length === 0 ? prefix : '';
}

/** Returns the routes of a controller, without its own path. */
function routesOf(prototype: object): { path: string; method: RequestMethod }[] {
  return methodsOf(prototype).map((method) => ({
    path: (Reflect.getMetadata('path', method) as string).replace(/^\/$/, ''),
    method: Reflect.getMetadata('method', method) as RequestMethod,
  }));
}

/** Returns the methods of a controller that are routes. */
function methodsOf(prototype: object): { name: string }[] {
  return Object.getOwnPropertyNames(prototype)
    .map((key): unknown => (prototype as Record<string, unknown>)[key])
    .filter((method) => typeof method === 'function' && Reflect.hasMetadata('path', method)) as never;
}

/** Copies the injected tokens of a constructor. Nest reads them from the class itself. */
function copyInjections(base: Type<object>, mounted: Type<object>): void {
  for (const key of ['design:paramtypes', 'self:paramtypes']) {
    const value: unknown = Reflect.getMetadata(key, base);
    if (value !== undefined) {
      Reflect.defineMetadata(key, value, mounted);
    }
  }
}
