import type { QueueStore } from '../../queue/store/queue-store.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { HistoryWriter } from './history-writer.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import { LongRuns } from './long-runs.js';
import type { RepeatedStart } from './repeated-start.js';
import { WorkerRegistration } from './worker-registration.js';

/** The options of a worker that its reports need. */
interface ReportOptions {
  logger: JobQueueLogger;
  version: string;
  concurrency?: number;
}

/** Announces this worker, adds its measured times, and looks for handlers that run for long, at intervals. */
export class WorkerReports {
  private readonly registration: WorkerRegistration;
  private readonly history: HistoryWriter;
  readonly longRuns: LongRuns;

  constructor(
    worker: string,
    runners: readonly QueueRunner[],
    store: QueueStore,
    options: ReportOptions,
    repeats: RepeatedStart,
  ) {
    const { logger, version } = options;
    this.registration = new WorkerRegistration(worker, runners, store, logger, options, repeats);
    this.history = new HistoryWriter(worker, runners, store, logger, version);
    this.longRuns = new LongRuns(runners, store.clock, logger);
  }

  /** Resolves once the store knows the worker; see WorkerRegistration. */
  async start(): Promise<void> {
    await this.registration.start();
    this.history.start();
    this.longRuns.start();
  }

  /** Announces a queue whose limits the store does not know. */
  announce(runner: QueueRunner): void {
    this.registration.open(runner);
  }

  /** Withdraws the registration and sends the remaining measurements. */
  async stop(): Promise<void> {
    this.longRuns.stop();
    await Promise.all([this.registration.stop(), this.history.stop()]);
  }

  /** Ends without a word to the store. */
  abandon(): void {
    this.longRuns.stop();
    this.registration.abandon();
    this.history.abandon();
  }
}
