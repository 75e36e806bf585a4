import { Injectable } from '@nestjs/common';
import { JobDefinition } from '../queue/define-job.js';
import type { JobRecord, QueueStats } from '../queue/job.js';
import { DeadLetters } from '../queue/dead-letters.js';
import type { JobHandle, ResultOptions } from '../queue/job-handle.js';
import type { JobQueue } from '../queue/job-queue.js';
import type { EnqueueOptions } from '../queue/new-job.js';
import type { InputOf, OutputOf, StandardSchema } from '../queue/standard-schema.js';
import { HandlerRegistry } from './handler-registry.js';
import { JobEvents } from './job-events.js';
import { JobSchedules } from './job-schedules.js';
import { QueueRegistry } from './queue-registry.js';
import { WorkerLifecycle } from './worker-lifecycle.js';

/** Options of one enqueue through the service. */
export interface EnqueueJobOptions extends Omit<EnqueueOptions, 'name'> {
  /** Which queue it goes to. Default: the definition's, that of the handler in this process, the one named as the job. */
  queue?: string;
}

/**
 * Enqueues jobs and reads, cancels and counts them, by the name of the job: its queue is that of the handler in this
 * process, else the one named as the job. Whatever reads fails with a RedisUnsuitableError when Redis does not answer
 * within the queue's `enqueueTimeoutMs` (5,000).
 *
 * @example
 * constructor(private readonly jobs: JobQueueService) {}
 * const job = await this.jobs.enqueue('email', { to: 'ada@example.com' }, { delayMs: 5_000 });
 * const { messageId } = await job.result({ timeoutMs: 10_000 });
 */
@Injectable()
export class JobQueueService {
  /** What happens to jobs in the whole fleet: an Observable, and for `for await`. */
  readonly events: JobEvents;
  /** The recurring jobs. */
  readonly schedules = new JobSchedules({
    target: (job, queue) => this.target(job, queue),
    all: () => this.queues.all,
    ask: (queue, question) => this.askQueue(queue, question),
  });

  constructor(
    private readonly queues: QueueRegistry,
    private readonly handlers: HandlerRegistry,
    private readonly lifecycle: WorkerLifecycle,
  ) {
    this.events = new JobEvents(queues, queues.redis.connection.logger);
  }

  /**
   * Adds a job.
   *
   * @param job its name, or its definition, by which the compiler knows payload and result
   * @returns a handle: the id, whether the job is new, and its result
   * @throws InvalidPayloadError, InvalidOptionError, RedisOutOfMemoryError: nothing was written. EnqueueError: says
   *   whether it was.
   */
  async enqueue<Payload extends StandardSchema, Result extends StandardSchema>(
    definition: JobDefinition<Payload, Result>,
    payload: InputOf<Payload>,
    options?: EnqueueJobOptions,
  ): Promise<JobHandle<OutputOf<Result>>>;
  async enqueue<Result = unknown>(
    name: string,
    payload: unknown,
    options?: EnqueueJobOptions,
  ): Promise<JobHandle<Result>>;
  async enqueue(
    job: string | JobDefinition,
    payload: unknown,
    options: EnqueueJobOptions = {},
  ): Promise<JobHandle> {
    const { queue, ...rest } = options;
    const target = this.target(job, queue);
    return typeof job === 'string'
      ? target.enqueue(payload, optionsFor(target, job, rest))
      : target.enqueue(job, payload, rest);
  }

  /**
   * Adds many jobs of one name, at most 500 in one atomic step; all are checked before the first is sent.
   *
   * @returns a handle for each, in their order
   * @example await jobs.enqueueMany('email', users.map((user) => ({ payload: { to: user.mail }, delayMs: 1_000 })));
   */
  async enqueueMany<Payload extends StandardSchema, Result extends StandardSchema>(
    definition: JobDefinition<Payload, Result>,
    jobs: readonly ({ payload: InputOf<Payload> } & Omit<EnqueueJobOptions, 'queue'>)[],
    options?: Pick<EnqueueJobOptions, 'queue'>,
  ): Promise<JobHandle<OutputOf<Result>>[]>;
  async enqueueMany<Result = unknown>(
    name: string,
    jobs: readonly ({ payload: unknown } & Omit<EnqueueJobOptions, 'queue'>)[],
    options?: Pick<EnqueueJobOptions, 'queue'>,
  ): Promise<JobHandle<Result>[]>;
  async enqueueMany(
    job: string | JobDefinition,
    jobs: readonly ({ payload: unknown } & Omit<EnqueueJobOptions, 'queue'>)[],
    { queue }: Pick<EnqueueJobOptions, 'queue'> = {},
  ): Promise<JobHandle[]> {
    const target = this.target(job, queue);
    return typeof job === 'string'
      ? target.enqueueMany(jobs.map(({ payload, ...rest }) => ({ payload, ...optionsFor(target, job, rest) })))
      : target.enqueueMany(job, jobs);
  }

  /**
   * The queue of a name, for all that can be done with one.
   *
   * @throws InvalidOptionError for a name that cannot be part of a key
   */
  queue(name: string): JobQueue {
    return this.queues.queue(name);
  }

  /** All that is known of a job; null when nothing is. `name`: the job's or the queue's. */
  async get<Payload = unknown, Result = unknown>(
    name: string,
    id: string,
  ): Promise<JobRecord<Payload, Result> | null> {
    return (await this.ask(name, (queue) => queue.get(id))) as JobRecord<Payload, Result> | null;
  }

  /**
   * Waits for a job's result. `name`: the job's or the queue's.
   *
   * @param options.timeoutMs how long to wait, in ms. Default 30,000
   * @throws JobFailedError, JobCancelledError, JobNotFoundError, JobTimeoutError
   */
  async result<Result = unknown>(
    name: string,
    id: string,
    { timeoutMs = 30_000, signal }: ResultOptions = {},
  ): Promise<Result> {
    return (await this.ask(name, (queue) => queue.result(id, { timeoutMs, signal }), timeoutMs)) as Result;
  }

  /** Cancels a job: one that waits at once; a running one has its signal aborted at the next heartbeat (`requested`). */
  cancel(name: string, id: string): ReturnType<JobQueue['cancel']> {
    return this.ask(name, (queue) => queue.cancel(id));
  }

  /**
   * The dead letters of a queue, to list, redrive and discard. `name`: the job's or the queue's, of which it shows all.
   *
   * @example await jobs.deadLetters('email').redriveAll({ filter: { error: 'ECONNREFUSED' } });
   */
  deadLetters(name: string): DeadLetters {
    const target = this.target(name, undefined);
    return new DeadLetters(target, (question) => this.askQueue(target, question));
  }

  /**
   * Deletes old jobs of one state, in bounded slices; see JobQueue.clean.
   *
   * @param name the job's or the queue's
   * @returns how many were deleted
   */
  clean(name: string, ...[status, options]: Parameters<JobQueue['clean']>): Promise<number> {
    return this.target(name, undefined).clean(status, options);
  }

  /** Depths, ages and counters: of one queue, or of all that this process knows, by name. */
  stats(name: string): Promise<QueueStats>;
  stats(): Promise<Record<string, QueueStats>>;
  async stats(name?: string): Promise<QueueStats | Record<string, QueueStats>> {
    if (name !== undefined) {
      return this.ask(name, (queue) => queue.stats());
    }
    const names = this.queues.all.map((queue) => queue.name);
    const stats = await Promise.all(names.map((each) => this.askQueue(this.queue(each), (queue) => queue.stats())));
    return Object.fromEntries(names.map((each, i) => [each, stats[i]!]));
  }

  /** Pauses a queue for the whole fleet: it takes jobs in and hands none out. False when it was paused already. */
  pause(name: string): Promise<boolean> {
    return this.ask(name, (queue) => queue.pause());
  }

  /** Ends the pause of a queue. False when it was not paused. */
  resume(name: string): Promise<boolean> {
    return this.ask(name, (queue) => queue.resume());
  }

  /** Lets this process claim nothing more, from one queue or from all; what runs goes on, other processes too. */
  pauseWorker(queue?: string): void {
    this.lifecycle.pauseWorker(queue);
  }

  /** Lets this process claim again. */
  resumeWorker(queue?: string): void {
    this.lifecycle.resumeWorker(queue);
  }

  /**
   * Stops this process's worker for good: nothing more is claimed, running handlers have `shutdownTimeoutMs`, what is
   * unfinished then is given back. Enqueueing goes on. `app.close()` does it by itself, before anything else closes.
   */
  drain(): Promise<void> {
    return this.lifecycle.drain();
  }

  private target(job: string | JobDefinition, queue: string | undefined): JobQueue {
    const [name, defined] = typeof job === 'string' ? [job] : [job.name, job.defaults.queue];
    return this.queue(queue ?? defined ?? this.handlers.queueOf(name));
  }

  private async ask<Answer>(
    name: string,
    question: (queue: JobQueue) => Promise<Answer>,
    waitMs = 0,
  ): Promise<Answer> {
    return this.askQueue(this.target(name, undefined), question, waitMs);
  }

  private askQueue<Answer>(
    queue: JobQueue,
    question: (queue: JobQueue) => Promise<Answer>,
    waitMs = 0,
  ): Promise<Answer> {
    return this.queues.redis.answer(queue.options.enqueueTimeoutMs, waitMs, () => question(queue));
  }
}

/** Undefined where nothing is asked for: such a job skips all checks of options. */
function optionsFor(
  queue: JobQueue,
  name: string,
  options: Omit<EnqueueOptions, 'name'>,
): EnqueueOptions | undefined {
  return queue.name !== name ? { ...options, name } : Object.keys(options).length > 0 ? options : undefined;
}
