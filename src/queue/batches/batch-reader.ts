import { BatchNotFoundError } from '../errors/batch-errors.js';
import type { BatchMember, BatchPage, BatchRecord } from '../model/batch.js';
import { checkCount, checkKnown } from '../validation/validate-options.js';
import { LARGEST_PAGE } from '../runtime/bounds.js';
import type { QueueAccess } from '../store/queue-store.js';

/** A batch as its readers see it, such as the handler of its follow-up. */
export class BatchReader {
  /** Out of sight of whoever logs the batch. */
  readonly #queue: Pick<QueueAccess, 'name' | 'exec'>;

  /** @internal */
  constructor(
    queue: Pick<QueueAccess, 'name' | 'exec'>,
    /** The id of the batch. */
    readonly id: string,
  ) {
    this.#queue = queue;
  }

  /** The queue of the batch and of its follow-ups. */
  get queue(): string {
    return this.#queue.name;
  }

  /**
   * Returns how far the batch is.
   *
   * @throws BatchNotFoundError
   */
  async status(): Promise<BatchRecord> {
    const record = await this.#queue.exec((calls) => calls.batches.status(this.id));
    if (!record) {
      throw new BatchNotFoundError(this.id);
    }
    return record;
  }

  /**
   * Returns one page of the members, in the order in which they joined, and what became of each. They are kept until the follow-ups have
   * ended, and `resultTtlMs` of the batch longer.
   *
   * @param options.offset how many members to pass over. Default 0
   * @param options.limit at most 1,000. Default 100. A page ends earlier where its results are larger than a megabyte
   * @throws InvalidOptionError
   * @example
   * const { members, next } = await job.batch.results({ limit: 500 });
   */
  async results<Result = unknown>(options: { offset?: number; limit?: number } = {}): Promise<BatchPage<Result>> {
    checkKnown('results', options, ['offset', 'limit']);
    const { offset = 0, limit = 100 } = options;
    checkCount('offset', offset, 0, Number.MAX_SAFE_INTEGER);
    checkCount('limit', limit, 1, LARGEST_PAGE);
    return (await this.#queue.exec((calls) => calls.batches.results(this.id, offset, limit))) as BatchPage<Result>;
  }

  /**
   * Reads all members, page by page.
   *
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
