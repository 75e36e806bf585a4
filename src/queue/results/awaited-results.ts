import { QueueClosedError } from '../errors/errors.js';
import type { JobEvent } from '../model/job-event.js';
import type { QueueAccess } from '../store/queue-store.js';
import { checkText } from '../validation/names.js';
import { checkResultOptions, type JobSource, type ResultOptions } from './job-handle.js';
import { waitForResult } from './wait-for-result.js';

/** The results of one queue that callers wait for now. */
export class AwaitedResults {
  private readonly pending = new Set<(error: Error) => void>();
  private closed = false;

  constructor(private readonly queue: QueueAccess & Pick<JobSource, 'get'>) {}

  /** Waits for the result of a job; see JobQueue.result. */
  async result(id: string, options: ResultOptions, name: string | undefined): Promise<unknown> {
    checkText('job id', id);
    const { timeoutMs, signal } = checkResultOptions(options);
    const calls = await this.queue.calls();
    if (this.closed) {
      throw new QueueClosedError(this.queue.name);
    }
    const { store } = this.queue;
    const listen = (listener: (event: JobEvent) => void) => store.subscribe(calls, listener);
    const source = {
      queue: this.queue.name,
      name,
      clock: store.clock,
      subscribe: this.queue.options.events === 'off' ? undefined : listen,
      pending: this.pending,
      get: (each: string) => this.queue.get(each),
    };
    return waitForResult(source, id, timeoutMs, signal);
  }

  /** Rejects the results that are awaited now, and later ones. */
  close(): void {
    this.closed = true;
    this.pending.forEach((end) => end(new QueueClosedError(this.queue.name)));
  }
}
