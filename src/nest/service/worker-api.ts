import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { checkQueueName } from '../../queue/validation/names.js';
import type { WorkerLifecycle } from '../lifecycle/worker-lifecycle.js';
import { AdminApi, onlyQueue } from './admin-api.js';
import type { QueueChoice } from './queue-choice.js';

/** The verbs of an app for its own worker. */
export abstract class WorkerApi extends AdminApi {
  /** @internal */
  protected abstract readonly lifecycle: WorkerLifecycle;

  /** Stops the claims of this process, from one queue or from all. Running jobs go on, as do other processes. */
  pauseWorker(queue?: string): void {
    checkGivenQueue(queue);
    this.lifecycle.controls.pause(queue);
  }

  /**
   * Sets how many jobs of a queue this process runs at once, until it ends. Jobs beyond a lower number continue.
   * Handlers in threads keep their number of threads.
   *
   * @throws InvalidOptionError for a queue without a handler here, or a number that is not whole and from 1 to 100,000
   * @example jobs.setConcurrency('email', 20);
   */
  setConcurrency(job: string | JobDefinition, concurrency: number, options: QueueChoice = {}): void {
    this.lifecycle.setConcurrency(this.target(job, onlyQueue('setConcurrency', options)).name, concurrency);
  }

  /** Lets this process claim again. */
  resumeWorker(queue?: string): void {
    checkGivenQueue(queue);
    this.lifecycle.controls.resume(queue);
  }

  /**
   * Stops this process's worker permanently. It stops claiming, gives running handlers `shutdownTimeoutMs`, then
   * releases unfinished jobs. Enqueues still work. `app.close()` calls it first.
   */
  drain(): Promise<void> {
    return this.lifecycle.drain();
  }
}

function checkGivenQueue(queue: string | undefined): void {
  if (queue !== undefined) {
    checkQueueName(queue);
  }
}
