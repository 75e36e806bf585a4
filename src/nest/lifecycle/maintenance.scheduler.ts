import type { ModulesContainer } from '@nestjs/core';
import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { Recurrence } from '../../queue/model/schedule.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { LONGEST_TIMER_MS } from '../../queue/runtime/bounds.js';
import { systemClock } from '../../queue/runtime/clock.js';
import { within } from '../../queue/runtime/waits.js';
import { EndReports, reclaimWorker } from '../../worker/maintenance/end-reports.js';
import { nextMaintenanceAt, type ResolvedModuleOptions, type MaintenanceSchedule } from '../job-queue.options.js';
import { Sweeper } from '../../worker/maintenance/sweeper.js';
import { FailureLog } from '../../worker/reports/failure-log.js';
import { eventListener, type WorkerEventListener } from '../../worker/handlers/attempt-middleware.js';
import { DEFAULT_CONNECTION } from '../connection/connection-tokens.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import type { JobListeners } from '../handlers/job-listeners.js';
import type { ModuleMiddleware } from './module-middleware.js';

/** The part of the SchedulerRegistry of \@nestjs/schedule that is used. An app need not have it installed. */
interface CronRegistry {
  addCronJob(name: string, job: MaintenanceJob): void;
  getCronJobs(): Map<string, unknown>;
  deleteCronJob(name: string): void;
}

/** The name of the cron job in the app's SchedulerRegistry. A named connection appends a colon and its name. */
export const MAINTENANCE_CRON_JOB = 'nest-job-queue:maintenance';

/** The parts of a connection that its maintenance needs. */
export interface MaintenanceParts {
  readonly options: Pick<ResolvedModuleOptions, 'maintenance' | 'logFailures' | 'version'>;
  readonly queues: QueueRegistry;
  readonly modules: ModulesContainer;
  readonly logger: SafeLogger;
  readonly listeners: Pick<JobListeners, 'listener'>;
  readonly middleware: Pick<ModuleMiddleware, 'list'>;
  readonly connection: string;
}

/**
 * Maintains all queues that this process knows, as a cron job. It is in the app's SchedulerRegistry if there is one, so
 * that it can be seen and stopped there. Every replica may do it without harm.
 */
export class MaintenanceScheduler implements BackgroundRole {
  private readonly cronJob: string;
  private readonly failures: FailureLog;
  private job: MaintenanceJob | undefined;
  private registry: CronRegistry | undefined;
  private sweeper: Sweeper | undefined;

  constructor(private readonly parts: MaintenanceParts) {
    const { connection, logger, options } = parts;
    this.failures = new FailureLog(logger, options.logFailures);
    this.cronJob =
      connection === DEFAULT_CONNECTION ? MAINTENANCE_CRON_JOB : `${MAINTENANCE_CRON_JOB}:${connection}`;
  }

  start(): void {
    const { options: module, queues, logger } = this.parts;
    if (module.maintenance === false || this.sweeper) {
      return;
    }
    const { clock } = queues.redis.store;
    const job = new MaintenanceJob(this.cronJob, module.maintenance, () => this.runSafely());
    const options = { emit: this.emit, failures: this.failures, clock, version: module.version };
    this.sweeper = new Sweeper(queues.all, job.periodMs, logger, options);
    if (clock !== systemClock) {
      return this.sweeper.start(); // the job knows only the time of the process
    }
    this.job = job;
    this.registry = this.findRegistry();
    this.registry?.addCronJob(this.cronJob, this.job);
    this.job.start();
  }

  private get emit(): WorkerEventListener | undefined {
    const { middleware, listeners, logger } = this.parts;
    return eventListener(middleware.list, listeners.listener, logger);
  }

  private async runSafely(): Promise<void> {
    try {
      if (this.parts.queues.redis.ready) {
        await this.sweeper?.runRound();
      }
    } catch (error) {
      this.parts.logger.error(`Maintenance failed; its next turn tries again: ${(error as Error).message}`);
    }
  }

  /** Sweeps all queues once; does nothing while Redis is away. */
  async runOnce(): Promise<void> {
    if (this.parts.queues.redis.ready) {
      await this.sweeper?.runOnce();
    }
  }

  /**
   * Reclaims the claims of a worker in those of the queues that this process knows. The caller has proof that the
   * worker's process has ended.
   */
  async reclaimWorker(worker: string, queues: readonly string[]): Promise<void> {
    const reports = new EndReports(this.parts.logger, this.failures, this.emit);
    const known = this.parts.queues.all.filter(({ name }) => queues.includes(name));
    await Promise.all(known.map((queue) => reclaimWorker(queue, worker, reports)));
  }

  /** Prevents further sweeps, and waits for the current one, at most `timeoutMs`. */
  async stop(timeoutMs: number = LONGEST_TIMER_MS): Promise<void> {
    const { job, registry, sweeper } = this;
    if (!sweeper) {
      return;
    }
    if (!job) {
      return sweeper.stop();
    }
    if (registry?.getCronJobs().get(this.cronJob) === job) {
      registry.deleteCronJob(this.cronJob);
    } else {
      job.stop();
    }
    await within(systemClock, timeoutMs, sweeper.stop(), () => undefined);
  }

  /** Finds the registry by its name: to import its class would make \@nestjs/schedule a must. */
  private findRegistry(): CronRegistry | undefined {
    for (const { providers } of this.parts.modules.values()) {
      for (const [token, { instance }] of providers) {
        if (typeof token === 'function' && token.name === 'SchedulerRegistry' && isCronRegistry(instance)) {
          return instance;
        }
      }
    }
    return undefined; // the app does not use @nestjs/schedule
  }
}

function isCronRegistry(instance: unknown): instance is CronRegistry {
  const methods = ['addCronJob', 'getCronJobs', 'deleteCronJob'] as const;
  return methods.every((method) => typeof (instance as Partial<CronRegistry> | null)?.[method] === 'function');
}

/** An instant, with the readings that operators take of a `nextDate()`. */
interface Instant {
  toMillis(): number;
  toJSDate(): Date;
  toISO(): string;
  /** Returns the ms since the epoch. */
  valueOf(): number;
}

/**
 * The clock of the maintenance, with the methods that operators use of a CronJob in the SchedulerRegistry of \@nestjs/schedule. It
 * is no CronJob of the package `cron`, so that an app without \@nestjs/schedule installs no second cron library.
 */
export class MaintenanceJob implements BackgroundRole {
  private readonly recurrence: Recurrence;
  private timer: NodeJS.Timeout | undefined;
  private nextAt = 0;
  private lastAt: number | undefined;

  constructor(
    readonly name: string,
    schedule: MaintenanceSchedule,
    /** Runs one turn. It never rejects. The registry may put a guard around it. */
    public fireOnTick: () => Promise<void>,
  ) {
    this.recurrence =
      'cron' in schedule
        ? { cron: schedule.cron, timeZone: schedule.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone }
        : { everyMs: schedule.everyMs };
  }

  /** True from start to stop. */
  get isActive(): boolean {
    return this.timer !== undefined;
  }

  /** Returns the current time between two turns, in ms. */
  get periodMs(): number {
    const first = nextMaintenanceAt(this.recurrence, Date.now());
    return nextMaintenanceAt(this.recurrence, first) - first;
  }

  start(): void {
    if (!this.isActive) {
      this.plan();
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Runs one turn now, also while an earlier one waits for a server. The maintenance joins what still runs. */
  runOnce(): Promise<void> {
    this.lastAt = Date.now();
    return this.fireOnTick();
  }

  /** Returns the start of the last run; null before the first. */
  lastDate(): Date | null {
    return this.lastAt === undefined ? null : new Date(this.lastAt);
  }

  /** Returns the start of the next run. */
  nextDate(): Instant {
    return instant(this.isActive ? this.nextAt : nextMaintenanceAt(this.recurrence, Date.now()));
  }

  /** Returns the starts of the next runs. */
  nextDates(count: number): Instant[] {
    const dates: Instant[] = [];
    for (
      let at = this.nextDate();
      dates.length < count;
      at = instant(nextMaintenanceAt(this.recurrence, at.toMillis()))
    ) {
      dates.push(at);
    }
    return dates;
  }

  private plan(): void {
    this.nextAt = nextMaintenanceAt(this.recurrence, Date.now());
    this.wait();
  }

  private wait(): void {
    const leftMs = Math.max(0, this.nextAt - Date.now());
    this.timer = setTimeout(() => this.onTimer(), Math.min(leftMs, LONGEST_TIMER_MS));
  }

  private onTimer(): void {
    if (Date.now() < this.nextAt) {
      this.wait();
      return;
    }
    this.plan();
    void this.runOnce();
  }
}

function instant(ms: number): Instant {
  const date = new Date(ms);
  return { toMillis: () => ms, toJSDate: () => date, toISO: () => date.toISOString(), valueOf: () => ms };
}
