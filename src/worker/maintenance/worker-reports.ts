import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { HistoryWriter } from './history-writer.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import { LongRuns } from './long-runs.js';
import type { WorkerContext } from './worker-context.js';
import { WorkerRegistration } from './worker-registration.js';

/** Announces this worker, adds its measured times, and looks for handlers that run for long, at intervals. */
export class WorkerReports implements BackgroundRole {
  private readonly registration: WorkerRegistration;
  private readonly history: HistoryWriter;
  readonly longRuns: LongRuns;

  constructor(worker: WorkerContext) {
    this.registration = new WorkerRegistration(worker);
    this.history = new HistoryWriter(worker);
    this.longRuns = new LongRuns(worker.runners, worker.store.clock, worker.logger);
  }

  /** Resolves once the store knows the worker; see WorkerRegistration. */
  async start(): Promise<void> {
    await this.registration.start();
    this.history.start();
    this.longRuns.start();
  }

  /** Announces the worker, sends its measurements, and looks for long runs, now. */
  async runOnce(): Promise<void> {
    this.longRuns.runOnce();
    await Promise.all([this.registration.runOnce(), this.history.runOnce()]);
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
