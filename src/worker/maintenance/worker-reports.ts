import type { QueueStore } from '../../queue/store/queue-store.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { HistoryWriter } from './history-writer.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import type { RepeatedStart } from './repeated-start.js';
import { WorkerRegistration } from './worker-registration.js';

/** The options of a worker that its reports need. */
interface ReportOptions {
  logger: JobQueueLogger;
  version: string;
  concurrency?: number;
}

/** Announces this worker and adds its measured times, at intervals. */
export class WorkerReports {
  private readonly registration: WorkerRegistration;
  private readonly history: HistoryWriter;

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
  }

  /** Resolves once the store knows the worker; see WorkerRegistration. */
  async start(): Promise<void> {
    await this.registration.start();
    this.history.start();
  }

  /** Announces a queue whose limits the store does not know. */
  announce(runner: QueueRunner): void {
    this.registration.open(runner);
  }

  /** Withdraws the registration and sends the remaining measurements. */
  async stop(): Promise<void> {
    await Promise.all([this.registration.stop(), this.history.stop()]);
  }

  /** Ends without a word to the store. */
  abandon(): void {
    this.registration.abandon();
    this.history.abandon();
  }
}
