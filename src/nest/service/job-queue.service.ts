import { Injectable } from '@nestjs/common';
import { Batch } from '../../queue/batches/batch.js';
import { encodeBatch } from '../../queue/batches/batch-options.js';
import { checkObject } from '../../queue/validation/validate-options.js';
import { type JobDefinition, type PayloadFor, type ResultFor } from '../../queue/enqueue/define-job.js';
import { checkResultOptions, type JobHandle, type ResultOptions } from '../../queue/results/job-handle.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { checkQueueName, checkText } from '../../queue/validation/names.js';
import { withCaller } from '../../queue/runtime/with-caller.js';
import type { OutputOf, StandardSchema } from '../../queue/validation/standard-schema.js';
import { typedSource } from '../../queue/enqueue/encode-typed-job.js';
import { HandlerRegistry } from '../handlers/handler-registry.js';
import { JobEvents } from './job-events.js';
import { JobSchedules } from './job-schedules.js';
import { batchHome, type JobBatchOptions } from './batch-home.js';
import { QueueAdminApi } from './queue-admin-api.js';
import { optionsFor, type EnqueueJobOptions, type JobOfAnyName } from './enqueue-job-options.js';
import { enqueueMany } from './enqueue-many.js';
import { checkJobAndId, onlyQueue, takeQueue, type QueueChoice } from './queue-choice.js';
import { QueueRegistry } from '../connection/queue-registry.js';
import { addServiceClass } from '../connection/service-classes.js';
import { WorkerLifecycle } from '../lifecycle/worker-lifecycle.js';

/**
 * Enqueues jobs, and reads, cancels and counts them, by the definition or the name of the job. Finds the queue by the
 * definition, else by the handler in this process, else by the job's name. A read fails with a RedisUnsuitableError if
 * Redis does not reply within the queue's `enqueueTimeoutMs` (5,000).
 *
 * @example
 * constructor(private readonly jobs: JobQueueService) {}
 * const job = await this.jobs.enqueue('email', { to: 'ada@example.com' }, { delayMs: 5_000 });
 * const { messageId } = await job.result({ timeoutMs: 10_000 });
 */
@Injectable()
export class JobQueueService extends QueueAdminApi {
  /** The job events of the whole fleet: an Observable, and for `for await`. */
  readonly events: JobEvents;
  /** The recurring jobs. */
  readonly schedules = new JobSchedules({
    target: (job, queue) => this.target(job, queue),
    all: () => this.queues.all,
    ask: (queue, question) => this.askQueue(queue, question),
  });

  /** @internal */
  constructor(
    queues: QueueRegistry,
    handlers: HandlerRegistry,
    /** The worker of this process. @internal */
    private readonly lifecycle: WorkerLifecycle,
  ) {
    super(queues, handlers);
    this.events = new JobEvents(queues, queues.redis.connection.logger);
  }

  /**
   * Adds a job. The type argument of `enqueue<Result>('email', …)` is the type of the result, not of the payload. Both
   * types come from a definition.
   *
   * @param job its name, or its definition, by which the compiler knows payload and result
   * @returns a handle: the id, whether the job is new, and its result
   * @throws InvalidPayloadError, InvalidOptionError, RedisOutOfMemoryError: nothing was written. EnqueueError: says
   *   whether it was.
   */
  async enqueue<Result = unknown, Job extends string | JobDefinition = string | JobDefinition>(
    job: Job,
    payload: PayloadFor<Job>,
    options?: EnqueueJobOptions,
  ): Promise<JobHandle<ResultFor<Job, Result>>>;
  async enqueue(
    job: string | JobDefinition,
    payload: unknown,
    options: EnqueueJobOptions = {},
  ): Promise<JobHandle> {
    checkObject('enqueue', 'an object of enqueue options', options);
    const { queue, ...rest } = options;
    const target = this.target(job, queue);
    try {
      return await (typeof job === 'string'
        ? target.producer.one(undefined, payload, optionsFor(target, job, rest, 'enqueue'))
        : target.enqueue(job, payload, rest));
    } catch (error) {
      throw withCaller(error);
    }
  }

  /**
   * Adds many jobs of one name, at most 500 in one atomic step. All are checked before the first is sent.
   *
   * @returns a handle for each, in their order
   * @throws InvalidPayloadError, InvalidOptionError: nothing was written. EnqueueError, whose `items` have the outcome
   *   of each, if a step failed
   * @example await jobs.enqueueMany('email', users.map((user) => ({ payload: { to: user.mail }, delayMs: 1_000 })));
   */
  async enqueueMany<Result = unknown, Job extends string | JobDefinition = string | JobDefinition>(
    job: Job,
    jobs: readonly ({ payload: PayloadFor<Job> } & Omit<EnqueueJobOptions, 'queue'>)[],
    options?: Pick<EnqueueJobOptions, 'queue'>,
  ): Promise<JobHandle<ResultFor<Job, Result>>[]>;
  /**
   * Adds many jobs of several names and queues. All are checked before the first is sent. Then each queue gets its own,
   * at most 500 in one atomic step.
   *
   * @example await jobs.enqueueMany([{ job: 'email', payload: { to } }, { job: SendSms, payload: { number }, delayMs: 1_000 }]);
   */
  async enqueueMany<Jobs extends readonly (string | JobDefinition)[]>(jobs: {
    readonly [Index in keyof Jobs]: { job: Jobs[Index]; payload: PayloadFor<Jobs[Index]> } & EnqueueJobOptions;
  }): Promise<{ -readonly [Index in keyof Jobs]: JobHandle<ResultFor<Jobs[Index], unknown>> }>;
  async enqueueMany(
    job: string | JobDefinition | readonly JobOfAnyName[],
    jobs?: readonly ({ payload: unknown } & Omit<EnqueueJobOptions, 'queue'>)[],
    options: Pick<EnqueueJobOptions, 'queue'> = {},
  ): Promise<JobHandle[]> {
    try {
      return await enqueueMany((each, queue) => this.target(each, queue), job, jobs, options);
    } catch (error) {
      throw withCaller(error);
    }
  }

  /**
   * Makes a batch: jobs of any names and queues, with follow-ups once all of them have ended.
   *
   * @throws InvalidOptionError, InvalidPayloadError
   * @example
   * const batch = this.jobs.batch({ then: { name: 'report', payload: { month } } });
   * await batch.addMany('page', pages.map((page) => ({ payload: { page } })));
   * await batch.seal();
   */
  batch(options: JobBatchOptions): Batch<string> {
    const home = batchHome(
      options,
      (name) => this.target(name, undefined),
      (name) => this.queue(name),
    );
    const { queue: _queue, ...rest } = options;
    const encoded = encodeBatch(home, rest);
    return new Batch<string>(home, encoded, (job, queue) => this.target(job, queue));
  }

  /**
   * Returns a batch by its id, to add to it, to read it or to wait for it. Sends no request.
   *
   * @param job the definition or name of a follow-up, or the name of the batch's queue
   */
  findBatch(job: string | JobDefinition, id: string, options: QueueChoice = {}): Batch<string> {
    checkText('batch id', id);
    const home = this.target(job, onlyQueue('findBatch', options));
    return new Batch<string>(home, id, (each, queue) => this.target(each, queue));
  }

  /**
   * Waits for a job's result.
   * @param job its definition, by whose schema the result is read, its name, or the name of its queue
   * @param options.timeoutMs how long to wait, in ms. Default 30,000
   * @throws JobFailedError, JobCancelledError, JobNotFoundError, JobTimeoutError
   * @example const { messageId } = await jobs.result(SendEmail, id, { timeoutMs: 10_000 });
   */
  result<Payload extends StandardSchema, Result extends StandardSchema>(
    job: JobDefinition<Payload, Result>,
    id: string,
    options?: ResultOptions & QueueChoice,
  ): Promise<OutputOf<Result>>;
  /** Waits for the result of a job by its name or queue and its id. */
  result<Result = unknown>(job: string, id: string, options?: ResultOptions & QueueChoice): Promise<Result>;
  async result(
    job: string | JobDefinition,
    id: string,
    options: ResultOptions & QueueChoice = {},
  ): Promise<unknown> {
    checkJobAndId('result', job, id);
    const { queue: name, rest } = takeQueue('result', options);
    const { timeoutMs, signal } = checkResultOptions(rest);
    const read = (queue: JobQueue) => (typeof job === 'string' ? queue : typedSource(queue, job));
    return this.ask(job, (queue) => read(queue).awaitResult(id, { timeoutMs, signal }), name, timeoutMs);
  }

  /** Stops the claims of this process, from one queue or from all. Running jobs and other processes continue. */
  pauseWorker(queue?: string): void {
    checkGivenQueue(queue);
    this.lifecycle.controls.pause(queue);
  }

  /**
   * Sets how many jobs of a queue this process runs at once, until it ends. Jobs beyond a lower number continue.
   * Handlers in threads keep their number of threads.
   *
   * @throws InvalidOptionError for a queue without a handler here. Also for a number that is not whole and from 1 to
   * 100,000
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

addServiceClass(JobQueueService);

function checkGivenQueue(queue: string | undefined): void {
  if (queue !== undefined) {
    checkQueueName(queue);
  }
}
