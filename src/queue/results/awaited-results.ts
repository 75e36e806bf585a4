import { setMaxListeners } from 'node:events';
import { QueueClosedError, InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import type { JobEvent } from '../model/job-event.js';
import { InterruptibleWait } from '../runtime/waits.js';
import type { QueueAccess } from '../store/queue-store.js';
import { checkText } from '../validation/names.js';
import { checkKnown, checkMs } from '../validation/validate-options.js';
import { checkResultOptions, type JobSource, type ResultOptions, type JobHandle } from './job-handle.js';
import { waitForResult } from './wait-for-result.js';

/** The results of one queue that callers wait for now. */
export class AwaitedResults {
  private readonly pending = new Set<(error: Error) => void>();
  private readonly pauses: InterruptibleWait;
  private closed = false;
  /** True once a hold has failed, which is logged once. */
  private cannotHold = false;

  constructor(private readonly queue: QueueAccess & Pick<JobSource, 'get'>) {
    this.pauses = new InterruptibleWait(queue.store.clock);
  }

  /** Waits for the result of a job; see JobQueue.result. */
  async result(id: string, options: ResultOptions, name: string | undefined): Promise<unknown> {
    checkText('job id', id);
    const { timeoutMs, signal } = checkResultOptions(options);
    const calls = await this.queue.calls();
    if (this.closed) {
      throw new QueueClosedError(this.queue.name);
    }
    const { store } = this.queue;
    const listen = (listener: (event: JobEvent) => void) => store.subscribe(calls, listener, [id]);
    const source = {
      queue: this.queue.name,
      name,
      clock: store.clock,
      subscribe: this.queue.options.events === 'off' ? undefined : listen,
      pending: this.pending,
      get: (each: string) => this.queue.get(each),
      hold: (each: string, forMs: number) => this.hold(each, forMs),
    };
    return waitForResult(source, id, timeoutMs, signal);
  }

  /** Keeps the record of a job for its caller. A Redis user that may only read waits without that. */
  private async hold(id: string, forMs: number): Promise<void> {
    try {
      await this.queue.exec((calls) => calls.holdResult({ id, forMs: Math.ceil(forMs) }));
    } catch (error) {
      const { name, store } = this.queue;
      if (!this.cannotHold) {
        this.cannotHold = true;
        store.logger.warn(
          `Could not keep the result of job ${id} of queue "${name}" until its caller reads it: ${(error as Error).message}`,
        );
      }
    }
  }

  /** Waits between two looks; rejects as soon as the queue is closed. */
  async sleep(ms: number): Promise<void> {
    if (this.closed || (await this.pauses.wait(ms))) {
      throw new QueueClosedError(this.queue.name);
    }
  }

  /** Rejects the results that are awaited now, and later ones. */
  close(): void {
    this.closed = true;
    this.pauses.end();
    this.pending.forEach((end) => end(new QueueClosedError(this.queue.name)));
  }
}

/** The results of the handles, in order. */
export type ResultsOf<Handles extends readonly JobHandle[]> = {
  -readonly [Index in keyof Handles]: Handles[Index] extends JobHandle<infer Result> ? Result : never;
};

/**
 * Waits for the results of many jobs, over one connection. Rejects at the first failed or cancelled job, or at the time
 * limit. The jobs themselves continue. For each job's own outcome:
 * `Promise.allSettled(handles.map((job) => job.result()))`.
 *
 * @param options.timeoutMs how long to wait for all of them, in ms. Default 30,000
 * @throws InvalidOptionError; JobFailedError, JobCancelledError, JobNotFoundError, JobTimeoutError, each with the id of its job
 * @example const results = await awaitAll(await jobs.enqueueMany('resize', images), { timeoutMs: 60_000 });
 */
export async function awaitAll<const Handles extends readonly JobHandle[]>(
  handles: Handles,
  options: { timeoutMs?: number | undefined } = {},
): Promise<ResultsOf<Handles>> {
  if (!Array.isArray(handles)) {
    throw new InvalidOptionError('awaitAll', 'an array of job handles', show(handles));
  }
  handles.forEach((handle: unknown, i) => {
    if (typeof (handle as JobHandle | null | undefined)?.result !== 'function') {
      throw new InvalidOptionError(`awaitAll[${i}]`, 'the handle of a job', show(handle));
    }
  });
  checkKnown('awaitAll', options, ['timeoutMs']);
  const { timeoutMs = 30_000 } = options;
  checkMs('timeoutMs', timeoutMs, 0, Infinity);
  const others = new AbortController();
  // One listener for each awaited job is no leak.
  setMaxListeners(0, others.signal);
  try {
    const results = (handles as readonly JobHandle[]).map((handle) =>
      handle.result({ timeoutMs, signal: others.signal }),
    );
    return (await Promise.all(results)) as ResultsOf<Handles>;
  } finally {
    others.abort();
  }
}
