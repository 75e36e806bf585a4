import type { ModulesContainer } from '@nestjs/core';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { LONGEST_TIMER_MS } from '../../queue/runtime/bounds.js';
import { systemClock } from '../../queue/runtime/clock.js';
import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import { within } from '../../queue/runtime/within.js';
import { FailureLog } from '../../worker/reports/failure-log.js';
import { EndReports } from '../../worker/maintenance/end-reports.js';
import { reclaimWorker } from '../../worker/maintenance/reclaim-worker.js';
import { Sweeper } from '../../worker/maintenance/sweeper.js';
import type { JobListeners } from '../handlers/job-listeners.js';
import type { ResolvedModuleOptions } from '../options/job-queue.options.js';
import { DEFAULT_CONNECTION } from '../connection/connection-tokens.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import { MaintenanceJob } from './maintenance-job.js';

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
    const { options: module, queues, logger, listeners } = this.parts;
    if (module.maintenance === false || this.sweeper) {
      return;
    }
    const { clock } = queues.redis.store;
    const job = new MaintenanceJob(this.cronJob, module.maintenance, () => this.runSafely());
    const options = { emit: listeners.listener, failures: this.failures, clock, version: module.version };
    this.sweeper = new Sweeper(queues.all, job.periodMs, logger, options);
    if (clock !== systemClock) {
      return this.sweeper.start(); // the job knows only the time of the process
    }
    this.job = job;
    this.registry = this.findRegistry();
    this.registry?.addCronJob(this.cronJob, this.job);
    this.job.start();
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
    const reports = new EndReports(this.parts.logger, this.failures, this.parts.listeners.listener);
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
