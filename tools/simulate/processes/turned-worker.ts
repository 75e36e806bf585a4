// A worker of many queues on one server, which looks for jobs in turn with the others of its fleet.
import { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import { OPTIONS } from '../release.js';
import { WorkerProcess } from './worker-process.js';

export const TURNED_QUEUES = Array.from({ length: 5 }, (_, i) => `turned-${i}`);

/** Few calls in a second, because it takes a minute until a fleet knows of a death. */
export const TURNED_OPTIONS = { ...OPTIONS, visibilityMs: 30_000, maxCrashes: 1_000 };

export class TurnedWorker extends WorkerProcess {
  override start(): void {
    const served = TURNED_QUEUES.map((name) => ({
      queue: new JobQueue(this.store, name, TURNED_OPTIONS),
      handlers: { [name]: (job: Job) => this.handle(job) },
    }));
    this.begin(new Worker(served, { id: this.name, sweepIntervalMs: 1_000, logFailures: false }));
  }

  private async handle(job: Job): Promise<unknown> {
    const { history, random } = this.world;
    history.started(job);
    await this.sleep(random.between(0, 50));
    return history.returned(job);
  }
}
