import { onceAborted } from '../runtime/waits.js';
import { BatchNotFoundError, BatchTimeoutError } from '../errors/errors.js';
import { checkResultOptions, type ResultOptions } from '../results/job-handle.js';
import type { BatchMember, BatchPage, BatchRecord } from '../model/batch.js';
import { checkCount, checkKnown, checkMs } from '../validation/validate-options.js';
import { LARGEST_PAGE } from '../runtime/bounds.js';
import type { SleepingQueue } from '../store/queue-store.js';

/** The interval in which a wait for the members polls, in ms. */
const LOOK_EVERY_MS = 200;

/** The default interval between two reads of a batch's progress, in ms. */
const PROGRESS_EVERY_MS = 1_000;

/** The options of following a batch's progress. */
export interface BatchProgressOptions {
  /** The interval between two reads, in ms, at least 50. Each read is one command. @default 1,000 */
  everyMs?: number | undefined;
  /** Ends the loop with the reason of the signal. */
  signal?: AbortSignal | undefined;
}

/** A batch as its readers see it, such as the handler of its follow-up. */
export class BatchReader {
  /** Private, so that a logged batch does not show it. */
  #queue: SleepingQueue;
  #locate: (() => Promise<SleepingQueue>) | undefined;

  /** @internal */
  constructor(
    queue: SleepingQueue,
    /** The id of the batch. */
    readonly id: string,
    /** Finds the shard of a batch whose id does not name it. */
    locate?: () => Promise<SleepingQueue>,
  ) {
    this.#queue = queue;
    this.#locate = locate;
  }

  /** The queue of the batch. In a queue with shards it is one of them. An own id does not name it: then the first call finds it. */
  get queue(): string {
    return this.#queue.name;
  }

  /** The queue of the batch, as far as it is known. @internal */
  protected get home(): SleepingQueue {
    return this.#queue;
  }

  /** Returns the queue of the batch. The first call looks for it. @internal */
  protected async located(): Promise<SleepingQueue> {
    if (this.#locate) {
      this.#queue = await this.#locate();
      this.#locate = undefined;
    }
    return this.#queue;
  }

  /**
   * Returns how far the batch is.
   *
   * @throws BatchNotFoundError
   */
  async status(): Promise<BatchRecord> {
    const record = await (await this.located()).exec((calls) => calls.batches.status({ id: this.id }));
    if (!record) {
      throw new BatchNotFoundError(this.id);
    }
    return record;
  }

  /**
   * Waits until all members have ended, and the follow-ups are enqueued. It looks every 200 ms, by one command.
   *
   * @param options.timeoutMs in ms. Default 30,000
   * @throws BatchTimeoutError, BatchNotFoundError, QueueClosedError
   * @example const { completed, failed } = await batch.wait({ timeoutMs: 60_000 });
   */
  async wait(options: ResultOptions = {}): Promise<BatchRecord> {
    const { timeoutMs, signal } = checkResultOptions(options);
    await this.ready();
    const { clock } = this.#queue.store;
    const deadline = clock.monotonic() + timeoutMs;
    for (;;) {
      signal?.throwIfAborted();
      const record = await this.status();
      const leftMs = deadline - clock.monotonic();
      if (record.firedAt) {
        return record;
      }
      if (leftMs <= 0) {
        throw new BatchTimeoutError(this.id, timeoutMs, record.open, record.state !== 'open');
      }
      await this.#sleep(Math.min(leftMs, LOOK_EVERY_MS), signal);
    }
  }

  /**
   * Follows the batch: yields its progress now and after each change. Ends once all members have ended. A batch that is
   * never sealed does not end: leave the loop by `break` or by the signal.
   *
   * @throws InvalidOptionError, BatchNotFoundError, QueueClosedError
   * @example
   * for await (const { open, total } of batch.progress()) {
   *   response.write(`${total - open} of ${total}\n`);
   * }
   */
  async *progress(options: BatchProgressOptions = {}): AsyncGenerator<BatchRecord, void, void> {
    checkKnown('progress', options, ['everyMs', 'signal']);
    const { everyMs = PROGRESS_EVERY_MS, signal } = options;
    checkMs('everyMs', everyMs, 50, Infinity);
    checkResultOptions({ signal });
    await this.ready();
    for (let last = '', firedAt: Date | undefined; !firedAt;) {
      signal?.throwIfAborted();
      const record = await this.status();
      ({ firedAt } = record);
      const state = JSON.stringify(record);
      if (state !== last) {
        last = state;
        yield record;
      }
      if (!firedAt) {
        await this.#sleep(everyMs, signal);
      }
    }
  }

  /** Ends early if the signal aborts. */
  async #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    let end!: () => void;
    const aborted = new Promise<void>((resolve) => (end = resolve));
    const stopWaiting = signal && onceAborted(signal, end);
    await Promise.race([this.#queue.sleep(ms), aborted]).finally(() => stopWaiting?.());
  }

  /** Makes sure that the batch exists. @internal */
  protected ready(): Promise<unknown> {
    return Promise.resolve();
  }

  /**
   * Returns one page of the members and their outcomes, in the order in which they joined. They are kept until the
   * follow-ups have ended, plus the batch's `resultTtlMs`.
   *
   * @param options.offset how many members to skip. Default 0
   * @param options.limit at most 1,000. Default 100. A page ends earlier if its results exceed a megabyte
   * @throws InvalidOptionError, BatchNotFoundError
   * @example
   * const { members, next } = await job.batch.results({ limit: 500 });
   */
  async results<Result = unknown>(
    options: { offset?: number | undefined; limit?: number | undefined } = {},
  ): Promise<BatchPage<Result>> {
    checkKnown('results', options, ['offset', 'limit']);
    const { offset = 0, limit = 100 } = options;
    checkCount('offset', offset, 0, Number.MAX_SAFE_INTEGER);
    checkCount('limit', limit, 1, LARGEST_PAGE);
    const home = await this.located();
    const page = await home.exec((calls) => calls.batches.results({ id: this.id, offset, limit }));
    if (!page) {
      throw new BatchNotFoundError(this.id);
    }
    return page as BatchPage<Result>;
  }

  /**
   * Reads all members, page by page.
   *
   * @throws BatchNotFoundError
   * @example for await (const { id, result } of job.batch.members()) { … }
   */
  async *members<Result = unknown>(): AsyncGenerator<BatchMember<Result>, void, void> {
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page: BatchPage<Result> = await this.results<Result>({ offset, limit: 500 });
      yield* page.members;
      offset = page.next;
    }
  }
}
