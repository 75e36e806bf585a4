import {
  isJobDefinition,
  type JobDefinition,
  type PayloadFor,
  type PayloadInput,
} from '../../queue/enqueue/define-job.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { StatusCondition } from '../../queue/store/job-ref.js';
import type { Start } from '../../queue/operate/reschedule-options.js';
import type {
  CancelOutcome,
  RemoveOutcome,
  RescheduleOutcome,
  RestartOutcome,
  UpdateOutcome,
} from '../../queue/store/call-outcomes.js';
import type { InputOf, StandardSchema } from '../../queue/validation/standard-schema.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import { checkJobAndId, chosenQueue, onlyQueue, takeQueue, type QueueChoice } from './queue-choice.js';

/**
 * The verbs of operators for one job, by its id. Each is that of JobQueue, within the service's time limit. `job` is a
 * definition, a job's name, or the name of the queue. The option `queue` names the queue as in an enqueue.
 */
export abstract class JobAdminApi {
  /** @internal */
  constructor(
    /** @internal */
    protected readonly queues: QueueRegistry,
    /** @internal */
    protected readonly handlers: HandlerRegistry,
  ) {}

  /**
   * Returns the queue of a name, for all that can be done with one.
   *
   * @throws InvalidOptionError for a name that cannot be part of a key
   */
  queue(name: string): JobQueue {
    return this.queues.queue(name);
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
    return this.ask(job, (queue) => queue.get(id), onlyQueue('get', options));
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
    const { queue: name, rest } = takeQueue('cancel', options);
    return this.ask(job, (queue) => queue.cancel(id, rest), name);
  }

  /**
   * Deletes a job with all its traces. A claimed job is refused (`processing`): cancel it first.
   *
   * @param job its definition, its name, or the name of its queue
   * @param options.ifStatus see JobQueue.remove
   */
  async remove(
    job: string | JobDefinition,
    id: string,
    options: StatusCondition & QueueChoice = {},
  ): Promise<RemoveOutcome> {
    checkJobAndId('remove', job, id);
    const { queue: name, rest } = takeQueue('remove', options);
    return this.ask(job, (queue) => queue.remove(id, rest), name);
  }

  /**
   * Gives a waiting job a new start: `{ delayMs }` from now, or `{ runAt }`.
   *
   * @param job its definition, its name, or the name of its queue
   * @throws InvalidOptionError, also for a start by which the job would have expired. Nothing is changed
   * @example await jobs.reschedule('remind', id, { runAt: new Date('2030-01-01T12:00:00Z') });
   */
  async reschedule(
    job: string | JobDefinition,
    id: string,
    start: Start,
    options: QueueChoice = {},
  ): Promise<RescheduleOutcome> {
    checkJobAndId('reschedule', job, id);
    return this.ask(job, (queue) => queue.reschedule(id, start), onlyQueue('reschedule', options));
  }

  /**
   * Starts a scheduled job now, as if its time had come; see JobQueue.promote.
   *
   * @example await jobs.promote('remind', id); // 'pending', 'refused' or 'missing'
   */
  async promote(job: string | JobDefinition, id: string, options: QueueChoice = {}): Promise<RestartOutcome> {
    checkJobAndId('promote', job, id);
    return this.ask(job, (queue) => queue.promote(id), onlyQueue('promote', options));
  }

  /**
   * Gives a waiting job another payload; see JobQueue.update. The definition checks it, of the call or of the handler in
   * this process.
   *
   * @throws InvalidPayloadError with the path of the fault: nothing was changed
   * @example await jobs.update(SendEmail, id, { to: 'ada@example.com' });
   */
  async update<Job extends string | JobDefinition>(
    job: Job,
    id: string,
    payload: PayloadFor<Job>,
    options: QueueChoice = {},
  ): Promise<UpdateOutcome> {
    checkJobAndId('update', job, id);
    const queueName = onlyQueue('update', options);
    return this.ask(
      job,
      async (queue) => {
        const name = (await queue.get(id))?.name;
        const definition = isJobDefinition(job) ? job : name && this.handlers.definitionOf(queue.name, name);
        return definition
          ? queue.update(definition, id, payload as PayloadInput<JobDefinition>)
          : queue.update(id, payload);
      },
      queueName,
    );
  }

  /**
   * Gives a job that waits another priority, 0 to 1,000; see JobQueue.setPriority.
   *
   * @throws InvalidOptionError
   * @example await jobs.setPriority('newsletter', id, 100);
   */
  async setPriority(
    job: string | JobDefinition,
    id: string,
    priority: number,
    options: QueueChoice = {},
  ): Promise<UpdateOutcome> {
    checkJobAndId('setPriority', job, id);
    return this.ask(job, (queue) => queue.setPriority(id, priority), onlyQueue('setPriority', options));
  }

  /**
   * Runs a job again that completed or was cancelled; see JobQueue.runAgain.
   *
   * @example await jobs.runAgain('report', id); // 'pending', 'refused' or 'missing'
   */
  async runAgain(job: string | JobDefinition, id: string, options: QueueChoice = {}): Promise<RestartOutcome> {
    checkJobAndId('runAgain', job, id);
    return this.ask(job, (queue) => queue.runAgain(id), onlyQueue('runAgain', options));
  }

  /** Returns the queue of a call. @internal */
  protected target(job: string | JobDefinition, queue: string | undefined): JobQueue {
    return this.queue(chosenQueue(job, queue, (name) => this.handlers.queueOf(name)));
  }

  /** Asks the queue of a call within its time limit. @internal */
  protected ask<Reply>(
    job: string | JobDefinition,
    question: (queue: JobQueue) => Promise<Reply>,
    queue: string | undefined,
    waitMs = 0,
  ): Promise<Reply> {
    return this.askQueue(this.target(job, queue), question, waitMs);
  }

  /** Asks a queue within its time limit. @internal */
  protected askQueue<Reply>(
    queue: JobQueue,
    question: (queue: JobQueue) => Promise<Reply>,
    waitMs = 0,
  ): Promise<Reply> {
    return this.queues.redis.ask(queue.options.enqueueTimeoutMs, waitMs, () => question(queue));
  }
}
