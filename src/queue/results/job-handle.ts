import type { Redact } from '../codec/redact.js';
import { checkKnown, checkMs } from '../validation/validate-options.js';
import { InvalidOptionError } from '../errors/errors.js';
import type { JobRecord } from '../model/job.js';
import type { StreamItem } from '../model/job-stream.js';
import type { StatusCondition } from '../store/job-ref.js';
import { show } from '../errors/show.js';
import type { ReadStreamOptions } from './stream-options.js';
import type { CancelOutcome } from '../store/call-outcomes.js';

/** The options of a wait for a result. */
export interface ResultOptions {
  /** The time limit in ms. @default 30,000 */
  timeoutMs?: number | undefined;
  /** Ends the wait, which rejects with the signal's reason. The job continues. */
  signal?: AbortSignal | undefined;
}

/** @throws InvalidOptionError */
export function checkResultOptions(options: ResultOptions = {}): ResultOptions & { timeoutMs: number } {
  checkKnown('result', options, ['timeoutMs', 'signal']);
  const { timeoutMs = 30_000, signal } = options;
  checkMs('timeoutMs', timeoutMs, 0, Infinity);
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw new InvalidOptionError('signal', 'an AbortSignal', show(signal));
  }
  return { timeoutMs, signal };
}

/** The source from which a handle reads its job. */
export interface JobSource {
  /** The name of the queue. */
  readonly name?: string;
  readonly options?: { readonly redact?: Redact };
  get(id: string): Promise<JobRecord | null>;
  /** @param name the required name of the job, so that its result has the expected type */
  awaitResult(id: string, options?: ResultOptions, name?: string): Promise<unknown>;
  cancel(id: string, options?: StatusCondition): Promise<CancelOutcome>;
  /** Reads the stream of a job. @param source reads the result at its end */
  readStream(id: string, options: ReadStreamOptions, source?: ResultSource): AsyncIterable<StreamItem>;
}

/** Reads the result of a job. */
export type ResultSource = Pick<JobSource, 'awaitResult'>;

/** The handle of an enqueued job: its id, the outcome of the enqueue, and access to its result and its stream from any process. */
export class JobHandle<Result = unknown, Chunk = unknown> {
  /** Private, so that a handle can be logged or sent as JSON. */
  readonly #source: JobSource;

  /** @internal */
  constructor(
    /** The id of the job. */
    readonly id: string,
    /** The name of the job. If `outcome` is `existing` or `kept`, it may differ from the enqueued one. */
    readonly name: string,
    /** The queue of the job. */
    readonly queue: string,
    /**
     * `existing`: the id was known already. `kept`, `replaced`: this other job owns the unique key. `stored`: the queue
     * gets it once its transaction has committed.
     */
    readonly outcome: 'new' | 'existing' | 'kept' | 'replaced' | 'stored',
    source: JobSource,
  ) {
    this.#source = source;
  }

  /**
   * Waits for the job's result.
   *
   * @throws InvalidOptionError if a definition was enqueued, but the existing job has another name; JobFailedError,
   * JobCancelledError, JobNotFoundError, JobTimeoutError
   * @example const { messageId } = await job.result({ timeoutMs: 10_000 });
   */
  async result(options?: ResultOptions): Promise<Result> {
    return this.#source.awaitResult(this.id, options) as Promise<Result>;
  }

  /**
   * Reads what the handler of the job writes by `job.stream`, or yields. See `JobQueue.stream`.
   *
   * @throws InvalidOptionError at once, a StreamCursorError for `after`. In the loop: JobNotFoundError, JobFailedError, JobCancelledError
   * @example for await (const item of job.stream()) if (item.type === 'chunk') process.stdout.write(item.data);
   */
  stream(options: ReadStreamOptions = {}): AsyncIterable<StreamItem<Chunk, Result>> {
    return this.#source.readStream(this.id, options) as AsyncIterable<StreamItem<Chunk, Result>>;
  }

  /**
   * Cancels the job. A waiting one ends at once. A running one gets an aborted signal (`requested`).
   *
   * @param options.ifStatus see JobQueue.cancel
   * @example if ((await job.cancel()) === 'requested') await job.result().catch(() => undefined);
   */
  async cancel(options?: StatusCondition): Promise<CancelOutcome> {
    return this.#source.cancel(this.id, options);
  }

  /** Returns the job's current record, or null if it is no longer known. */
  get(): Promise<JobRecord | null> {
    return this.#source.get(this.id);
  }
}
