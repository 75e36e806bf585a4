import { Injectable } from '@nestjs/common';
import { Batch } from '../../queue/batches/batch.js';
import { encodeBatch } from '../../queue/batches/batch-options.js';
import { checkObject } from '../../queue/validation/validate-options.js';
import { type JobDefinition, type PayloadFor, type ResultFor } from '../../queue/enqueue/define-job.js';
import { checkResultOptions, type JobHandle, type ResultOptions } from '../../queue/results/job-handle.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { PauseOptions } from '../../queue/model/pause.js';
import type { CancelOutcome } from '../../queue/store/call-outcomes.js';
import type { StatusCondition } from '../../queue/store/job-ref.js';
import { checkText } from '../../queue/validation/names.js';
import { withCaller } from '../../queue/runtime/with-caller.js';
import type { InputOf, OutputOf, StandardSchema } from '../../queue/validation/standard-schema.js';
import { typedSource } from '../../queue/enqueue/encode-typed-job.js';
import { HandlerRegistry } from '../handlers/handler-registry.js';
import { onceIn, type Once } from './once.js';
import { JobEvents } from './job-events.js';
import { JobSchedules } from './job-schedules.js';
import { placeBatch, type JobBatchOptions } from './batch-home.js';
import {
  optionsFor,
  storedIn,
  type EnqueueJobOptions,
  type EnqueueManyOptions,
  type JobsOfAnyName,
  type OneOfManyOptions,
} from './enqueue-job-options.js';
import { enqueueMany, type ManyArguments } from './enqueue-many.js';
import { checkQueue, checkJobAndId, chosenQueue, onlyQueue, takeQueue, type QueueChoice } from './queue-choice.js';
import { QueueRegistry } from '../connection/queue-registry.js';
import { addServiceClass } from '../connection/service-classes.js';
import { UnusedNames } from '../lifecycle/unused-names.js';
import { WorkerLifecycle } from '../lifecycle/worker-lifecycle.js';

/**
 * Enqueues, reads, cancels and awaits jobs, by the definition or the name of the job. `queue(name)` has all other verbs.
 * Finds the queue by the definition, else by the handler in this process, else by the job's name. A call fails with a RedisUnsuitableError if Redis does not reply within the
 * queue's `enqueueTimeoutMs` (5,000), at least a second.
 *
 * @example
 * constructor(private readonly jobs: JobQueueService) {}
 * const job = await this.jobs.enqueue('email', { to: 'ada@example.com' }, { delayMs: 5_000 });
 * const { messageId } = await job.result({ timeoutMs: 10_000 });
 */
@Injectable()
export class JobQueueService {
  /** The job events of the whole fleet: an Observable, and for `for await`. */
  readonly events: JobEvents;
  /** The recurring jobs. */
  readonly schedules: JobSchedules;
  /** Runs the database work of a job once, however often the job runs. Needs JobOutboxModule. */
  readonly once: Once;

  /** @internal */
  constructor(
    private readonly queues: QueueRegistry,
    private readonly handlers: HandlerRegistry,
    private readonly names: UnusedNames,
    /** The worker of this process. @internal */
    private readonly lifecycle: WorkerLifecycle,
  ) {
    queues.targetOf = (job, queue) => this.target(job, queue);
    this.once = onceIn(() => queues.outbox);
    this.events = new JobEvents(queues, queues.redis.connection.logger);
    this.schedules = new JobSchedules({
      target: (job, queue) => this.target(job, queue),
      all: () => queues.all,
    });
  }

  /**
   * Returns a queue. It has all verbs: stats, lists, dead letters, limits, groups, history and doctor among them.
   *
   * @param job a definition, a job's name, or the name of the queue
   * @throws InvalidOptionError for a name that cannot be part of a key
   * @example await jobs.queue('email').deadLetters.redriveAll({ error: 'ECONNREFUSED' });
   */
  queue(job: string | JobDefinition): JobQueue {
    return this.target(job, typeof job === 'string' && this.queues.has(job) ? job : undefined);
  }

  /** Returns the names of all queues that this process knows: of its handlers, of `forRoot({ queues })`, and those asked for. */
  queueNames(): string[] {
    return this.queues.all.map((queue) => queue.name);
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
    const { queue, transaction, ordered, ...rest } = options;
    const target = this.target(job, queue);
    try {
      const stored = storedIn('enqueue', { transaction, ordered });
      return await (typeof job === 'string'
        ? target.producer.one(undefined, payload, optionsFor(target, job, rest, 'enqueue'), stored)
        : target.producer.one(job, payload, rest, stored));
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
    jobs: readonly ({ payload: PayloadFor<Job> } & OneOfManyOptions)[],
    options?: EnqueueManyOptions,
  ): Promise<JobHandle<ResultFor<Job, Result>>[]>;
  /**
   * Adds many jobs of several names and queues. All are checked before the first is sent. Then each queue gets its own,
   * at most 500 in one atomic step.
   *
   * @example await jobs.enqueueMany([{ job: 'email', payload: { to } }, { job: SendSms, payload: { number }, delayMs: 1_000 }]);
   */
  async enqueueMany<Jobs extends readonly (string | JobDefinition)[]>(
    jobs: JobsOfAnyName<Jobs>,
  ): Promise<{ -readonly [Index in keyof Jobs]: JobHandle<ResultFor<Jobs[Index], unknown>> }>;
  async enqueueMany(...asked: ManyArguments): Promise<JobHandle[]> {
    try {
      return await enqueueMany((each, queue) => this.target(each, queue), ...asked);
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
  batch<
    Then extends StandardSchema = StandardSchema,
    OnFailure extends StandardSchema = StandardSchema,
    Finally extends StandardSchema = StandardSchema,
  >(options: JobBatchOptions<Then, OnFailure, Finally>): Batch<string> {
    const placed = placeBatch(options, {
      targetOf: (job) => this.target(job, undefined),
      queueOf: (name) => this.queues.requested(name),
    });
    const { home } = placed;
    const encoded = encodeBatch(home, placed.options, placed.find);
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
    const target = this.target(job, name);
    return (typeof job === 'string' ? target : typedSource(target, job)).awaitResult(id, { timeoutMs, signal });
  }

  /** Returns the record of a job by its definition and its id; null if it is unknown or has expired. */
  get<Payload extends StandardSchema, Result extends StandardSchema>(
    job: JobDefinition<Payload, Result>,
    id: string,
    options?: QueueChoice,
  ): Promise<JobRecord<InputOf<Payload>, InputOf<Result>> | null>;
  /** Returns a job by its name or queue and its id; null if it is unknown or has expired. */
  get<Payload = unknown, Result = unknown>(
    job: string,
    id: string,
    options?: QueueChoice,
  ): Promise<JobRecord<Payload, Result> | null>;
  async get(job: string | JobDefinition, id: string, options: QueueChoice = {}): Promise<JobRecord | null> {
    checkJobAndId('get', job, id);
    return this.target(job, onlyQueue('get', options)).get(id);
  }

  /**
   * Cancels a job. A waiting one ends at once. A running one gets an aborted signal (`requested`), at once in this process
   * and within a second in another.
   *
   * @param job its definition, its name, or the name of its queue
   * @param options.ifStatus see JobQueue.cancel
   */
  async cancel(
    job: string | JobDefinition,
    id: string,
    options: StatusCondition & QueueChoice = {},
  ): Promise<CancelOutcome> {
    checkJobAndId('cancel', job, id);
    const { queue, rest } = takeQueue('cancel', options);
    return this.target(job, queue).cancel(id, rest);
  }

  /**
   * Pauses a queue for the whole fleet: it accepts jobs and hands out none. False when it was paused already.
   *
   * @throws InvalidOptionError
   * @example await jobs.pause('email', { by: 'ada', reason: 'the mail provider is down' });
   */
  async pause(job: string | JobDefinition, options: PauseOptions & QueueChoice = {}): Promise<boolean> {
    const { queue, rest } = takeQueue('pause', options);
    return this.target(job, queue).pause(rest);
  }

  /** Ends the pause of a queue. False when it was not paused. */
  async resume(job: string | JobDefinition, options: QueueChoice = {}): Promise<boolean> {
    return this.target(job, onlyQueue('resume', options)).resume();
  }

  /**
   * Starts the workers of this process with `forRoot({ worker: 'manual' })`, such as after a cache is warm. Resolves once they
   * run, however long Redis is away. Called during the bootstrap it resolves at once, and they start at its end.
   * Does nothing while they run.
   *
   * @throws InvalidOptionError with `worker: false`, and after `drain()`; the error of a start that cannot succeed
   * @example await app.listen(3000); await warmUp(); await app.get(JobQueueService).startWorkers();
   */
  startWorkers(): Promise<void> {
    return this.lifecycle.startWorkers();
  }

  /** Stops the claims of this process, from one queue or from all. Running jobs and other processes continue. */
  pauseWorker(queue?: string): void {
    checkQueue(queue);
    if (queue !== undefined) this.names.servedHere(queue, 'pauseWorker');
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
    checkQueue(queue);
    this.lifecycle.controls.resume(queue);
  }

  /**
   * Stops this process's worker permanently. It stops claiming, gives running handlers `shutdownTimeoutMs`, then
   * releases unfinished jobs. Enqueues still work. `app.close()` calls it first.
   */
  drain(): Promise<void> {
    return this.lifecycle.drain();
  }

  /** Returns the queue of a call. */
  private target(job: string | JobDefinition, queue: string | undefined): JobQueue {
    return this.queues.requested(chosenQueue(job, queue, (name) => this.handlers.queueOf(name)));
  }
}

addServiceClass(JobQueueService);
