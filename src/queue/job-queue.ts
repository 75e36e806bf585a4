import { type BatchOptions, encodeBatch, type FindFollowUpQueue } from './batches/batch-options.js';
import { Batch } from './batches/batch.js';
import { redactValue, type Redact } from './codec/redact.js';
import { type ClaimOptions, ManualConsumer } from './consume/manual-consumer.js';
import {
  type JobDefinition,
  type PayloadFor,
  type ChunkFor,
  type ResultFor,
  isJobDefinition,
} from './enqueue/define-job.js';
import { type TypedEnqueueOptions, type JobToEnqueue, typedSource } from './enqueue/encode-job.js';
import { validateBulk } from './enqueue/validate-bulk.js';
import { type JobQueueOptions, queueOptionsOf } from './enqueue/enqueue-middleware.js';
import type { EnqueueOptions } from './enqueue/enqueue-options.js';
import { Producer } from './enqueue/producer.js';
import { InvalidOptionError } from './errors/errors.js';
import { checkLogger } from './errors/safe-logger.js';
import { show } from './errors/show.js';
import type { StreamItem } from './model/job-stream.js';
import type { ClaimRef, ClaimedJob, JobStatus } from './model/job.js';
import { QueueAdmin } from './queue-admin.js';
import type { ForeignRedisClient, RedisClient } from './redis/redis-client.js';
import { AwaitedResults } from './results/awaited-results.js';
import type { JobHandle, ResultOptions, ResultSource } from './results/job-handle.js';
import type { ReadStreamOptions } from './results/stream-options.js';
import { StreamReaders } from './results/stream-reader.js';
import { withCaller } from './runtime/with-caller.js';
import { Schedules } from './schedules/schedules.js';
import type { ExtendOutcome, FailOutcome, ReleaseOutcome } from './store/call-outcomes.js';
import type { OutboxWriter } from './store/outbox-writer.js';
import type { FollowReplies, QueueStore } from './store/queue-store.js';
import { checkText } from './validation/names.js';
import { UsedDefinitions } from './validation/used-definitions.js';
import type { InputOf, OutputOf, StandardSchema } from './validation/validate-with-schema.js';

/**
 * The arguments after the first one of an enqueue. One signature instead of overloads, so that the compiler names the field
 * of an invalid payload. A text takes no further argument, because it may be a payload or a name.
 */
export type EnqueueRest<First> = 0 extends First & 1
  ? [options?: EnqueueOptions]
  : [First] extends [JobDefinition]
    ? [payload: PayloadFor<First>, options?: TypedEnqueueOptions]
    : [First] extends [string]
      ? [hint?: 'A text takes no further argument. Name the job by an option: enqueue(payload, { name })']
      : [options?: EnqueueOptions];

/** The definition that an argument may be; of `any` nothing is known. */
export type DefinitionOf<First> = 0 extends First & 1 ? unknown : First;

/** A queue that may hide parts of its payloads. */
interface RedactingQueue {
  readonly name: string;
  readonly options: { readonly redact?: Redact | undefined };
}

/**
 * Returns the error for the arguments of the service, `(name, payload, options)`. The name would be stored as the payload.
 * The text may be a payload, so `redact` decides what is shown of it.
 */
function namedShapeError(given: unknown, third: unknown, queue: RedactingQueue): InvalidOptionError {
  const job = { id: '', name: queue.name, queue: queue.name };
  const first = redactValue(queue.options.redact, given, { part: 'payload', job });
  const name = typeof first === 'string' ? show(first) : '…';
  return new InvalidOptionError(
    'enqueue',
    '(payload, options) on a queue, where nothing follows a payload that is text',
    `${third === undefined ? 'two' : 'three'} arguments, the first ${show(first)}`,
    `To name the job: queue.enqueue({ … }, { name: ${name} }). ` +
      `With text as its payload: queue.enqueueMany([{ payload: ${name}, … }]).`,
  );
}

export type { ForeignRedisClient, RedisClient } from './redis/redis-client.js';

/**
 * A queue on Redis, without Nest and without a worker. It has all verbs of producers, operators and manual consumers.
 *
 * @example
 * const queue = new JobQueue(new Redis(), 'jobs');
 * await queue.enqueue({ to: 'ada@example.com' });
 * const job = await queue.claim({ timeoutMs: 5_000 });
 * if (job) await queue.complete(job, { sent: true });
 */
export class JobQueue extends QueueAdmin {
  /** The recurring jobs of the queue. */
  readonly schedules: Schedules = new Schedules(this);
  /** The definitions that this process uses. @internal */
  readonly definitions: UsedDefinitions = new UsedDefinitions(this);
  /** The end of the ids that it generates: the mark of a shard. @internal */
  idMark = '';
  /** All shards of the queue that it is a shard of, itself too. @internal */
  allShards: readonly JobQueue[] | undefined;
  /** Follows the replies of this shard to producers. @internal */
  follow: FollowReplies | undefined;
  /** Returns the shard of a job by its options, in a queue that is a shard itself. @internal */
  shardOfJob: ((subject: string, options: unknown) => JobQueue | undefined) | undefined;
  /** Returns the outbox of the app, for enqueues in a transaction. @internal */
  outbox: () => OutboxWriter | undefined = () => undefined;
  /** Finds the queue of a job that a running member adds to its batch. By default this one. @internal */
  queueOfMember: (
    job: string | JobDefinition,
    queue: JobQueue | string | undefined,
    members: readonly object[],
  ) => JobQueue | readonly JobQueue[] = (_job, queue) => {
    if (typeof queue === 'string') {
      throw new InvalidOptionError('batch.add queue', 'a JobQueue on the same client', JSON.stringify(queue));
    }
    return queue ?? this;
  };
  /** Finds the shard of a follow-up in a queue that the app has with shards. @internal */
  queueOfFollowUp: FindFollowUpQueue = () => undefined;
  /** @internal */
  readonly producer: Producer;
  private readonly consumer = new ManualConsumer(this);
  private readonly results = new AwaitedResults(this);
  private readonly streams = new StreamReaders(this);

  /**
   * @param client an ioredis client of yours; it is never closed here
   * @throws InvalidOptionError for a bad name or option; RedisUnsuitableError for a client with `keyPrefix`
   */
  constructor(client: RedisClient | ForeignRedisClient, name: string, options?: JobQueueOptions);
  /** @internal */
  constructor(client: RedisClient | ForeignRedisClient | QueueStore, name: string, options?: JobQueueOptions);
  constructor(client: RedisClient | ForeignRedisClient | QueueStore, name: string, options: JobQueueOptions = {}) {
    super(client, name, queueOptionsOf(options));
    const { logger } = options;
    if (logger !== undefined) this.store.logger = checkLogger(`queue ${JSON.stringify(name)}.logger`, logger);
    this.producer = new Producer(this, options.middleware);
  }

  /**
   * Adds a job.
   *
   * @returns a handle: the id, whether the job is new, and its result
   * @throws InvalidPayloadError, InvalidOptionError: nothing was written. EnqueueError: says whether it was sent.
   *   RedisOutOfMemoryError: nothing was written. DurabilityTimeoutError: the job was added, but too few replicas have
   *   it.
   * @example await queue.enqueue({ to: 'ada@example.com' }, { delayMs: 5_000 });
   * @example await queue.enqueue({ to: 'ada@example.com' }, { name: 'email' }); // in a queue that several names share
   * @example await queue.enqueue(SendEmail, { to: 'ada@example.com' }); // of defineJob: the compiler knows both sides
   */
  enqueue<Result = unknown, First = unknown>(
    definitionOrPayload: First,
    ...rest: EnqueueRest<First>
  ): Promise<JobHandle<ResultFor<DefinitionOf<First>, Result>, ChunkFor<DefinitionOf<First>>>>;
  enqueue(first: unknown, second?: unknown, third?: TypedEnqueueOptions): Promise<JobHandle> {
    this.onUse?.();
    if (isJobDefinition(first)) {
      return this.producer.one(first, second, third);
    }
    // The arguments of the service, `(name, payload, options)`.
    if (third !== undefined || (typeof first === 'string' && second !== undefined)) {
      return Promise.reject(namedShapeError(first, third, this));
    }
    return this.producer.one(undefined, first, second as EnqueueOptions | undefined);
  }

  /**
   * Adds many jobs, at most 500 in one atomic step. All are checked before the first is sent.
   *
   * @returns a handle for each, in their order
   * @throws InvalidPayloadError, InvalidOptionError: nothing was written. EnqueueError, whose `items` have the outcome
   *   of each, if a step failed
   * @example await queue.enqueueMany(users.map((user) => ({ payload: { to: user.mail } })));
   */
  async enqueueMany<Payload extends StandardSchema, Result extends StandardSchema>(
    definition: JobDefinition<Payload, Result>,
    jobs: readonly ({ payload: InputOf<Payload> } & TypedEnqueueOptions)[],
  ): Promise<JobHandle<OutputOf<Result>>[]>;
  /** Adds many jobs at once, at most 500 in one atomic step. */
  async enqueueMany<Result = unknown>(
    jobs: readonly ({ payload: unknown } & EnqueueOptions)[],
  ): Promise<JobHandle<Result>[]>;
  async enqueueMany(
    first: JobDefinition | readonly JobToEnqueue[],
    second?: readonly JobToEnqueue[],
  ): Promise<JobHandle[]> {
    this.onUse?.();
    const definition = isJobDefinition(first) ? first : undefined;
    try {
      return await this.producer.many(definition, validateBulk(isJobDefinition(first) ? second! : first));
    } catch (error) {
      throw withCaller(error);
    }
  }

  /**
   * Waits for a job's result; see JobHandle.result.
   *
   * @param definition the job's definition, by whose schema the result is read
   * @throws InvalidOptionError for a job of another name than the definition's; JobFailedError, JobCancelledError,
   *   JobNotFoundError, JobTimeoutError
   * @example const { messageId } = await queue.result(SendEmail, id, { timeoutMs: 10_000 });
   */
  async result<Payload extends StandardSchema, Result extends StandardSchema>(
    definition: JobDefinition<Payload, Result>,
    id: string,
    options?: ResultOptions,
  ): Promise<OutputOf<Result>>;
  /** Does the same by the id alone: no schema reads the result. */
  async result<Result = unknown>(id: string, options?: ResultOptions): Promise<Result>;
  async result(first: string | JobDefinition, ...rest: unknown[]): Promise<unknown> {
    const isTyped = isJobDefinition(first);
    const [id, options] = (isTyped ? rest : [first, ...rest]) as [string, ResultOptions?];
    return (isTyped ? typedSource(this, first) : this).awaitResult(id, options);
  }

  /** @internal Waits for the result of a job that must have this name, if one is given. */
  async awaitResult(id: string, options: ResultOptions = {}, name?: string): Promise<unknown> {
    return this.results.result(id, options, name);
  }

  /**
   * Reads what the handler of a job writes by `job.stream`, while it runs and afterwards. Ends with the job's result, or throws its error.
   * No chunk is missed or repeated, also over reconnects. To go on in another process, pass the `id` of the last item as `after`.
   *
   * @throws InvalidOptionError at once, a StreamCursorError for `after`. In the loop: JobNotFoundError, JobFailedError, JobCancelledError, CodecError; RedisUnsuitableError
   *   if Redis is away for a minute
   * @example for await (const item of queue.stream<string>(id)) if (item.type === 'chunk') process.stdout.write(item.data);
   */
  stream<Data = unknown, Result = unknown>(
    id: string,
    options: ReadStreamOptions = {},
  ): AsyncIterable<StreamItem<Data, Result>> {
    return this.readStream(id, options) as AsyncIterable<StreamItem<Data, Result>>;
  }

  /**
   * Reads a stream. @param source reads the result
   * @param isWindow true if chunks that this process cannot decode are returned as stored
   * @internal
   */
  readStream(
    id: string,
    options: ReadStreamOptions,
    source: ResultSource = this,
    isWindow = false,
  ): AsyncIterable<StreamItem> {
    return this.streams.stream(id, options, (timeoutMs) => source.awaitResult(id, { timeoutMs }), isWindow);
  }

  /** Returns all items of a stream that are stored now, as a window shows them. @internal */
  storedStream(id: string, after?: string): AsyncIterable<StreamItem> {
    return this.streams.stored(id, after);
  }

  /** Returns the last items of a stream, as a window shows them. @internal */
  lastStreamed(id: string, entries: number): Promise<StreamItem[]> {
    return this.streams.last(id, entries);
  }

  /**
   * Makes a batch: jobs here and in other queues, with follow-ups here once all of them have ended.
   *
   * @throws InvalidOptionError, InvalidPayloadError
   * @example
   * const batch = queue.batch({ then: { name: 'report' } });
   * await batch.add('page', { page: 1 });
   * await batch.add('image', { page: 1 }, { queue: images }); // another JobQueue on the same client
   * await batch.seal();
   */
  batch<
    Then extends StandardSchema = StandardSchema,
    OnFailure extends StandardSchema = StandardSchema,
    Finally extends StandardSchema = StandardSchema,
  >(options: BatchOptions<Then, OnFailure, Finally> = {}): Batch<JobQueue> {
    const encoded = encodeBatch(this, options, this.queueOfFollowUp);
    return new Batch<JobQueue>(this, encoded, this.ownMembers);
  }

  /**
   * Returns a batch of this queue by its id. With it a caller adds to the batch, reads it or waits for it. Sends no
   * request.
   */
  findBatch(id: string): Batch<JobQueue> {
    checkText('batch id', id);
    return new Batch<JobQueue>(this, id, this.ownMembers);
  }

  /** Returns the queue of members: this one, unless the caller names another. */
  private readonly ownMembers = (
    job: string | JobDefinition,
    queue: JobQueue | undefined,
    members: readonly object[],
  ) => (queue ? this.queueOfMember(job, queue, members) : this);

  /**
   * Claims the next job, or returns null if there is none within `timeoutMs` (default 0).
   *
   * @throws RedisUnsuitableError without a reply of Redis within twice `enqueueTimeoutMs` (at least 1 s), whatever
   *   `timeoutMs` is. So an outage ends the call. Call it again, as a worker does. A job that it claimed unnoticed is
   *   reclaimed after `visibilityMs`.
   * @example
   * const job = await queue.claim({ timeoutMs: 30_000 }).catch(() => null); // then call it again
   */
  async claim(options: ClaimOptions = {}): Promise<ClaimedJob | null> {
    const [job] = await this.claimMany(1, options);
    return job ?? null;
  }

  /** Claims up to `count` jobs, at most 1,000; waits for the first as long as `timeoutMs` says. */
  async claimMany(count: number, options: ClaimOptions = {}): Promise<ClaimedJob[]> {
    return this.consumer.claimMany(count, options);
  }

  /** Ends a claim well, by the job's own `keepResult` and `resultTtlMs`. False when the claim was lost: the result was not stored. */
  async complete(job: ClaimRef & Partial<Pick<ClaimedJob, 'options'>>, result?: unknown): Promise<boolean> {
    return this.consumer.complete(job, result);
  }

  /**
   * Ends a claim badly. The job's attempts decide, on the server, whether it is retried.
   *
   * @param options.final true for no retry, even if attempts are left. Default: whether the error is a NonRetryableError
   * @param options.delayMs before the next attempt. Default: the backoff of the job, else of the queue
   */
  async fail(
    job: ClaimedJob,
    error: unknown,
    options: { final?: boolean | undefined; delayMs?: number | undefined } = {},
  ): Promise<FailOutcome> {
    return this.consumer.fail(job, error, options);
  }

  /** Releases an unfinished job, its attempt uncounted: to the front of the queue, or after `delayMs`. */
  async release(job: ClaimRef, options: { delayMs?: number | undefined } = {}): Promise<ReleaseOutcome> {
    return this.consumer.release(job, options);
  }

  /**
   * Lengthens a claim, counted from now.
   *
   * @param options.visibilityMs by how much, in ms. Default: the queue's
   */
  async extend(job: ClaimRef, options: { visibilityMs?: number | undefined } = {}): Promise<ExtendOutcome> {
    return this.consumer.extend(job, options);
  }

  /**
   * Reclaims expired claims in one bounded slice, at once, because only sweeps wait after a gap. It also reclaims dead
   * claims of clients of the Redis pattern, counted from when a call first saw them. It keeps the jobs that they
   * failed. `more`: further claims are left.
   */
  async reclaim(
    options: { limit?: number | undefined } = {},
  ): Promise<{ reclaimed: { id: string; status: JobStatus }[]; more: boolean }> {
    return this.consumer.reclaim(options);
  }

  /** Waits, and rejects with a QueueClosedError once the queue is closed. @internal */
  sleep(ms: number): Promise<void> {
    return this.results.sleep(ms);
  }

  /**
   * Ends waiting claims, rejects awaited results and batches with a QueueClosedError, and closes this queue's own connections. Your
   * client stays open.
   */
  close(): void {
    this.results.close();
    this.streams.close();
    this.consumer.close();
    this.producer.close();
    this.store.closeIdle();
  }
}
