import { hostname } from 'node:os';
import { Batch } from './batches/batch.js';
import { encodeBatch, type BatchOptions } from './batches/batch-options.js';
import { backoffDelay } from './model/backoff.js';
import { claimOf, failedClaimOf } from './store/claim-ref.js';
import { checkCount, checkFlag, checkKnown, checkMs } from './validation/validate-options.js';
import { isJobDefinition, type JobDefinition, type ResultFor } from './enqueue/define-job.js';
import { isNonRetryable } from './errors/errors.js';
import { checkLogger } from './errors/safe-logger.js';
import type { ClaimRef, ClaimedJob, JobStatus } from './model/job.js';
import type { JobHandle } from './results/job-handle.js';
import { encodeContent } from './codec/codec.js';
import { LARGEST_PAGE, YEAR_MS } from './runtime/bounds.js';
import { checkText } from './validation/names.js';
import type { EnqueueOptions } from './enqueue/enqueue-options.js';
import { isNamedShape, namedShapeError, type DefinitionOf, type EnqueueRest } from './enqueue/enqueue-signature.js';
import { addMany, addOne, addTyped, EnqueueRequests, type JobToEnqueue } from './enqueue/add-jobs.js';
import { queueOptionsOf, type JobQueueOptions } from './enqueue/enqueue-middleware.js';
import { Producer } from './enqueue/producer.js';
import { QueueAdmin, SLICE } from './queue-admin.js';
import type { ConsumerWait, QueueStore } from './store/queue-store.js';
import type { FailOutcome, ReleaseOutcome } from './store/call-answers.js';
import type { ForeignRedisClient, RedisClient } from './redis/redis-client.js';
import type { InputOf, OutputOf, StandardSchema } from './validation/standard-schema.js';
import { storeError } from './errors/serialize-error.js';
import { checkJobs } from './enqueue/validate-bulk.js';
import type { TypedEnqueueOptions } from './enqueue/encode-typed-job.js';

/** Options of a claim by hand. */
export interface ClaimOptions {
  /** How long to wait for a job, in ms. @default 0 */
  timeoutMs?: number;
  /** The id of the claimer, for operators. @default `host:pid` */
  worker?: string;
}

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
  /** @internal */
  readonly producer: Producer;
  private wait: ConsumerWait | undefined;
  private readonly identity = `${hostname()}:${process.pid}`;
  private claims = 0;
  private readonly requests: EnqueueRequests | undefined;

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
    this.producer = new Producer(this);
    this.requests = EnqueueRequests.of(this, options.middleware);
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
  ): Promise<JobHandle<ResultFor<DefinitionOf<First>, Result>>>;
  enqueue(first: unknown, second?: unknown, third?: TypedEnqueueOptions): Promise<JobHandle> {
    if (isJobDefinition(first)) {
      return this.enqueueOne(first, second, third);
    }
    return isNamedShape(first, second, third)
      ? Promise.reject(namedShapeError(first, third))
      : this.enqueuePayload(first, second as EnqueueOptions | undefined);
  }

  /** @internal Enqueues one job, of a definition or of none. */
  enqueueOne(
    definition: JobDefinition | undefined,
    payload: unknown,
    options: EnqueueOptions | undefined,
  ): Promise<JobHandle> {
    if (this.requests) {
      return this.requests.one(definition, payload, options);
    }
    return definition ? addTyped(this, definition, payload, options) : addOne(this, payload, options);
  }

  /** @internal Does the same for any payload, also a text, where it cannot be mistaken for a name. */
  enqueuePayload(payload: unknown, options: EnqueueOptions | undefined): Promise<JobHandle> {
    return this.enqueueOne(undefined, payload, options);
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
    const definition = isJobDefinition(first) ? first : undefined;
    return this.enqueueAll(definition, checkJobs(isJobDefinition(first) ? second! : first));
  }

  /** @internal Enqueues many jobs, of a definition or of none. */
  async enqueueAll(definition: JobDefinition | undefined, jobs: readonly JobToEnqueue[]): Promise<JobHandle[]> {
    return this.requests ? this.requests.many(definition, jobs) : addMany(this, definition, jobs);
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
  batch(options: BatchOptions = {}): Batch<JobQueue> {
    const encoded = encodeBatch(this, options);
    return new Batch<JobQueue>(this, encoded, (_job, queue) => queue ?? this);
  }

  /** Returns a batch of this queue by its id, to add to it, to read it or to wait for it. Sends no request. */
  findBatch(id: string): Batch<JobQueue> {
    checkText('batch id', id);
    return new Batch<JobQueue>(this, id, (_job, queue) => queue ?? this);
  }

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
    checkKnown('claim', options, ['timeoutMs', 'worker']);
    const { timeoutMs = 0, worker = this.identity } = options;
    checkCount('count', count, 1, LARGEST_PAGE);
    checkMs('timeoutMs', timeoutMs, 0, Infinity);
    checkText('worker', worker);
    const { clock } = this.store;
    const deadline = clock.now() + timeoutMs;
    for (;;) {
      const { jobs, nextDueInMs = Infinity, again } = await this.claimOnce(count, worker);
      const left = deadline - clock.now();
      if (jobs.length > 0 || ((left <= 0 || this.closed) && !again)) {
        return jobs;
      }
      if (!again) {
        this.wait ??= this.store.consumerWait(await this.calls());
        await this.wait.wait(Math.min(left, nextDueInMs));
        if (this.closed) {
          return [];
        }
      }
    }
  }

  private async claimOnce(count: number, worker: string) {
    // Several claims of one process may be in flight. Each has its own stream, so that none forgets another's batch.
    const stream = `${this.claims++ % 16}`;
    const token = this.store.clock.randomId();
    const answer = await this.exec((calls) => calls.claim({ count, token, worker, stream }));
    if (answer.refused.length > 0) {
      const failures = answer.refused.map((job) => ({ ...job, final: true, backoffMs: 0 }));
      await this.exec((calls) => calls.fail(failures));
    }
    const { jobs, refused, nextDueInMs } = answer;
    return { jobs, nextDueInMs, again: jobs.length === 0 && refused.length > 0 };
  }

  /** Ends a claim well, by the job's own `keepResult` and `resultTtlMs`. False when the claim was lost: the result was not stored. */
  async complete(job: ClaimRef & Partial<Pick<ClaimedJob, 'options'>>, result?: unknown): Promise<boolean> {
    const claim = claimOf(job);
    const { keepResult = true, resultTtlMs } = job.options ?? {};
    if (resultTtlMs !== undefined) {
      // The script must not meet it: Redis would refuse it when the rest is written already.
      checkCount('job.options.resultTtlMs', resultTtlMs, 1, YEAR_MS);
    }
    const json = result === undefined || !keepResult ? '' : encodeContent('result', result, this.options);
    const { lost } = await this.exec((calls) => calls.complete([{ ...claim, result: json, resultTtlMs }]));
    return lost.length === 0;
  }

  /**
   * Ends a claim badly. The job's attempts decide, on the server, whether it is retried.
   *
   * @param options.final no retry, whatever attempts are left. Default: whether the error is a NonRetryableError
   * @param options.delayMs before the next attempt. Default: the backoff of the job, else of the queue
   */
  async fail(
    job: ClaimedJob,
    error: unknown,
    options: { final?: boolean; delayMs?: number } = {},
  ): Promise<FailOutcome> {
    const claim = failedClaimOf(job);
    checkKnown('fail', options, ['final', 'delayMs']);
    checkFlag('final', options.final);
    checkMs('delayMs', options.delayMs ?? 0, 0, YEAR_MS);
    const backoffMs =
      options.delayMs ??
      backoffDelay(job.options.backoff ?? this.options.backoff, job.attempt, error, this.store.clock.random());
    const failure = {
      ...claim,
      error: storeError(error),
      final: options.final ?? isNonRetryable(error),
      backoffMs,
      begun: true,
    };
    const [outcome] = await this.exec((calls) => calls.fail([failure]));
    return outcome!;
  }

  /** Releases an unfinished job, its attempt uncounted: to the front of the queue, or after `delayMs`. */
  async release(job: ClaimRef, options: { delayMs?: number } = {}): Promise<ReleaseOutcome> {
    const claim = claimOf(job);
    checkKnown('release', options, ['delayMs']);
    const { delayMs = 0 } = options;
    checkMs('delayMs', delayMs, 0, YEAR_MS);
    const reason = delayMs > 0 ? 'snooze' : 'interruption';
    const [outcome] = await this.exec((calls) => calls.release([{ ...claim, reason, delayMs }]));
    return outcome!;
  }

  /** Lengthens a claim, from now, by `visibilityMs` (default: the queue's). Says whether it is lost or to be cancelled. */
  async extend(job: ClaimRef, visibilityMs?: number): Promise<'extended' | 'cancel-requested' | 'lost'> {
    const claim = claimOf(job);
    checkMs('visibilityMs', visibilityMs === undefined ? this.options.visibilityMs : visibilityMs, 1, YEAR_MS);
    const { lost, cancelRequested } = await this.exec((calls) => calls.extend([claim], visibilityMs));
    return lost.length > 0 ? 'lost' : cancelRequested.length > 0 ? 'cancel-requested' : 'extended';
  }

  /**
   * Reclaims expired claims in one bounded slice, at once, because only sweeps wait after a gap. It also reclaims dead
   * claims of clients of the Redis pattern, counted from when a call first saw them. It keeps the jobs that they
   * failed. `more`: further claims are left.
   */
  async reclaim(
    options: { limit?: number } = {},
  ): Promise<{ reclaimed: { id: string; status: JobStatus }[]; more: boolean }> {
    checkKnown('reclaim', options, ['limit']);
    const { limit = SLICE } = options;
    checkCount('limit', limit, 1, LARGEST_PAGE);
    const { reclaimed, more } = await this.exec((calls) => calls.reclaim(limit, Number.MAX_SAFE_INTEGER, 0));
    const foreign = (await this.exec((calls) => calls.adopt(limit))).reclaimed;
    return { reclaimed: [...reclaimed, ...foreign], more: more || foreign.length === limit };
  }

  /**
   * Ends waiting claims, rejects awaited results with a QueueClosedError, and closes this queue's own connections. Your
   * client stays open.
   */
  close(): void {
    this.closeResults();
    this.wait?.close();
    this.producer.close();
    this.store.closeIdle();
  }
}
