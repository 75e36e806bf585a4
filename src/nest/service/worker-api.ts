import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { checkQueueName } from '../../queue/validation/names.js';
import type { WorkerLifecycle } from '../lifecycle/worker-lifecycle.js';
import { AdminApi, onlyQueue } from './admin-api.js';
import type { QueueChoice } from './queue-choice.js';

/** What an app does through the service with the worker of its own process. */
export abstract class WorkerApi extends AdminApi {
  protected abstract readonly lifecycle: WorkerLifecycle;

  /** Lets this process claim nothing more, from one queue or from all; what runs goes on, other processes too. */
  pauseWorker(queue?: string): void {
    checkGivenQueue(queue);
    this.lifecycle.controls.pause(queue);
  }

  /**
   * Sets how many jobs of a queue this process runs at once, from now on, until it ends. What runs beyond a lower number goes on.
   * Of handlers in threads the number of threads stays.
   *
   * @throws InvalidOptionError for a queue without a handler here, or no whole number from 1 to 100,000
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
   * Stops this process's worker for good: nothing more is claimed, running handlers have `shutdownTimeoutMs`, what is
   * unfinished then is given back. Enqueueing goes on. `app.close()` does it by itself, before anything else closes.
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
