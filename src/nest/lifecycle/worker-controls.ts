import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { checkCount } from '../../queue/validation/validate-options.js';
import { HIGHEST_CONCURRENCY } from '../../worker/open-runner.js';
import type { Worker } from '../../worker/worker.js';

/** The pauses and other requests to the workers of this process. They apply to later workers too. */
export class WorkerControls {
  private readonly paused = new Set<string | undefined>();
  private readonly concurrencies = new Map<string, number>();
  private readonly servedBy = new Map<Worker, readonly string[]>();

  private served: (worker: string, queues: readonly string[]) => void = () => undefined;

  constructor(private readonly workers: () => readonly Worker[]) {}

  /** @param served the queues of the worker */
  apply(worker: Worker, served: readonly string[]): void {
    this.servedBy.set(worker, served);
    this.served(worker.id, served);
    this.paused.forEach((queue) => worker.pause(queue));
    this.concurrencies.forEach((slots, queue) => served.includes(queue) && worker.setConcurrency(queue, slots));
  }

  /** Calls a listener with the id and the queues of each worker, also of the present ones. */
  watchServed(listener: (worker: string, queues: readonly string[]) => void): void {
    this.served = listener;
    this.servedBy.forEach((queues, worker) => listener(worker.id, queues));
  }

  pause(queue?: string): void {
    this.paused.add(queue);
    this.workers().forEach((worker) => worker.pause(queue));
  }

  resume(queue?: string): void {
    if (queue === undefined) {
      this.paused.clear();
    }
    this.paused.delete(queue);
    this.workers().forEach((worker) => worker.resume(queue));
  }

  /**
   * @param served the queues with handlers here
   * @throws InvalidOptionError
   */
  setConcurrency(queue: string, concurrency: number, served: readonly string[]): void {
    if (!served.includes(queue)) {
      throw new InvalidOptionError('setConcurrency queue', 'a queue that this process serves', show(queue));
    }
    checkCount('concurrency', concurrency, 1, HIGHEST_CONCURRENCY);
    this.concurrencies.set(queue, concurrency);
    this.servedBy.forEach((queues, worker) => queues.includes(queue) && worker.setConcurrency(queue, concurrency));
  }
}
