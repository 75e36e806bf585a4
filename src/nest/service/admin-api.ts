import { clean, type CleanableStatus, type CleanOptions } from '../../queue/operate/clean.js';
import {
  isJobDefinition,
  type JobDefinition,
  type PayloadFor,
  type PayloadInput,
} from '../../queue/enqueue/define-job.js';
import type { JobRecord, JobStatus } from '../../queue/model/job.js';
import { checkKnown } from '../../queue/validation/validate-options.js';
import type { AuditTrail } from '../../queue/operate/audit-trail.js';
import type { History } from '../../queue/operate/history.js';
import type { ListOptions } from '../../queue/operate/find-jobs.js';
import type { BatchRecord } from '../../queue/model/batch.js';
import type {
  CancelOutcome,
  RemoveOutcome,
  RescheduleOutcome,
  RestartOutcome,
  UpdateOutcome,
} from '../../queue/store/call-outcomes.js';
import type { Groups } from '../../queue/operate/groups.js';
import type { StatusCondition } from '../../queue/operate/status-condition.js';
import type { Limits } from '../../queue/operate/limits.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { purge } from '../../queue/operate/purge.js';
import type { Start } from '../../queue/operate/reschedule-options.js';
import { takeQueue, type QueueChoice } from './queue-choice.js';
import type { PauseOptions } from '../../queue/model/pause.js';

/**
 * The verbs of operators for the jobs of a name. Each is that of JobQueue, within the service's time limit. `job` is a
 * definition, a job's name, or the name of the queue. The option `queue` names the queue as in an enqueue.
 */
export abstract class AdminApi {
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
    return this.ask(job, (queue) => queue.reschedule(id, start), onlyQueue('reschedule', options));
  }

  /**
   * Starts a scheduled job now, as if its time had come; see JobQueue.promote.
   *
   * @example await jobs.promote('remind', id); // 'pending', 'refused' or 'missing'
   */
  async promote(job: string | JobDefinition, id: string, options: QueueChoice = {}): Promise<RestartOutcome> {
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
    const queueName = onlyQueue('update', options);
    return this.ask(
      job,
      async (queue) => {
        const name = (await queue.get(id))?.name;
        const definition = isJobDefinition(job) ? job : name && this.definitionOf(queue.name, name);
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
    return this.ask(job, (queue) => queue.setPriority(id, priority), onlyQueue('setPriority', options));
  }

  /**
   * Runs a job again that completed or was cancelled; see JobQueue.runAgain.
   *
   * @example await jobs.runAgain('report', id); // 'pending', 'refused' or 'missing'
   */
  async runAgain(job: string | JobDefinition, id: string, options: QueueChoice = {}): Promise<RestartOutcome> {
    return this.ask(job, (queue) => queue.runAgain(id), onlyQueue('runAgain', options));
  }

  /**
   * Returns one page of the jobs in one state; see JobQueue.list.
   *
   * @param job a definition, a job's name, or the name of the queue; it shows all of the queue
   * @param options.limit at most 1,000. Default 50
   * @throws InvalidOptionError
   */
  async list(
    job: string | JobDefinition,
    status: JobStatus,
    options: ListOptions & QueueChoice = {},
  ): Promise<JobRecord[]> {
    const { queue: name, rest } = takeQueue('list', options);
    return this.ask(job, (queue) => queue.list(status, rest), name);
  }

  /**
   * Deletes old jobs of one state, in bounded slices; see JobQueue.clean.
   *
   * @param job a definition, a job's name, or the name of the queue; it cleans the whole queue
   * @returns how many were deleted
   */
  async clean(
    job: string | JobDefinition,
    status: CleanableStatus,
    options: CleanOptions & QueueChoice = {},
  ): Promise<number> {
    const { queue, rest } = takeQueue('clean', options);
    const target = this.target(job, queue);
    return clean(target, status, rest, (question) => this.askQueue(target, question));
  }

  /**
   * Deletes all jobs of a queue, in every state, in bounded slices; only its counters stay.
   *
   * @param job a definition, a job's name, or the name of the queue. The whole queue is emptied
   * @param options.confirm the queue's name, against accidents
   * @returns how many were deleted
   * @throws InvalidOptionError
   */
  async purge(job: string | JobDefinition, options: { confirm: string } & QueueChoice): Promise<number> {
    const { queue, rest } = takeQueue('purge', options);
    const target = this.target(job, queue);
    return purge(target, rest, (question) => this.askQueue(target, question));
  }

  /**
   * Lists batches of a queue that have not ended; see JobQueue.listBatches.
   *
   * @param job a definition, a job's name, or the name of the batches' queue
   */
  async listBatches(
    job: string | JobDefinition,
    options: { limit?: number } & QueueChoice = {},
  ): Promise<BatchRecord[]> {
    const { queue: name, rest } = takeQueue('listBatches', options);
    return this.ask(job, (queue) => queue.listBatches(rest), name);
  }

  /**
   * Pauses a queue for the whole fleet: it accepts jobs and hands out none. False when it was paused already.
   *
   * @throws InvalidOptionError
   * @example await jobs.pause('email', { by: 'ada', reason: 'the mail provider is down' });
   */
  async pause(job: string | JobDefinition, options: PauseOptions & QueueChoice = {}): Promise<boolean> {
    const { queue: name, rest } = takeQueue('pause', options);
    return this.ask(job, (queue) => queue.pause(rest), name);
  }

  /** Ends the pause of a queue. False when it was not paused. */
  async resume(job: string | JobDefinition, options: QueueChoice = {}): Promise<boolean> {
    return this.ask(job, (queue) => queue.resume(), onlyQueue('resume', options));
  }

  /**
   * Returns the limits of a queue for the whole fleet, to be read, set and cleared at run time.
   *
   * @param job a definition, a job's name, or the name of the queue
   * @example await jobs.limits('api').set({ rateLimit: { limit: 10, periodMs: 1_000 } });
   */
  limits(job: string | JobDefinition, options: QueueChoice = {}): Limits {
    return this.target(job, onlyQueue('limits', options)).limits;
  }

  /**
   * Returns the figures of a queue for each minute of the last 72 hours, to be read.
   *
   * @param job a definition, a job's name, or the name of the queue
   * @example const { points } = await jobs.history('email').read({ lastMs: 3_600_000 });
   */
  history(job: string | JobDefinition, options: QueueChoice = {}): History {
    return this.target(job, onlyQueue('history', options)).history;
  }

  /**
   * Returns the transitions of a queue's jobs, where the option `auditTrail` writes them down.
   *
   * @param job a definition, a job's name, or the name of the queue
   * @example const entries = await jobs.auditTrail('email').latest({ limit: 20 });
   */
  auditTrail(job: string | JobDefinition, options: QueueChoice = {}): AuditTrail {
    return this.target(job, onlyQueue('auditTrail', options)).auditTrail;
  }

  /**
   * Returns the groups of a queue, to be read, and to be limited, paused and cleaned one by one.
   *
   * @param job a definition, a job's name, or the name of the queue
   * @example await jobs.groups('email').set('tenant-42', { weight: 3 });
   */
  groups(job: string | JobDefinition, options: QueueChoice = {}): Groups {
    return this.target(job, onlyQueue('groups', options)).groups;
  }

  /** @internal */
  protected abstract target(job: string | JobDefinition, queue: string | undefined): JobQueue;

  /** Returns the definition to which this process binds the handler of a name. @internal */
  protected abstract definitionOf(queue: string, name: string): JobDefinition | undefined;

  /** @internal */
  protected abstract askQueue<Reply>(
    queue: JobQueue,
    question: (queue: JobQueue) => Promise<Reply>,
    waitMs?: number,
  ): Promise<Reply>;

  /** @internal */
  protected ask<Reply>(
    job: string | JobDefinition,
    question: (queue: JobQueue) => Promise<Reply>,
    queue: string | undefined,
    waitMs = 0,
  ): Promise<Reply> {
    return this.askQueue(this.target(job, queue), question, waitMs);
  }
}

/** Returns the queue, where a call takes no other option. @throws InvalidOptionError */
export function onlyQueue(subject: string, options: QueueChoice): string | undefined {
  checkKnown(subject, options, ['queue']);
  return options.queue;
}
