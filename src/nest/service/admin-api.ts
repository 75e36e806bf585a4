import { clean } from '../../queue/operate/clean.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import type { JobRecord } from '../../queue/model/job.js';
import type { History } from '../../queue/operate/history.js';
import type { Groups } from '../../queue/operate/groups.js';
import type { Limits } from '../../queue/operate/limits.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { purge } from '../../queue/operate/purge.js';

/** What operators do through the service with the jobs of a name; each verb is that of JobQueue, within the service's time limit. */
export abstract class AdminApi {
  /**
   * Cancels a job: one that waits at once; a running one has its signal aborted (`requested`), at once in this process and
   * within a second in another.
   *
   * @param job its definition, its name, or the name of its queue
   * @param options.ifStatus see JobQueue.cancel
   */
  async cancel(
    job: string | JobDefinition,
    ...[id, options]: Parameters<JobQueue['cancel']>
  ): ReturnType<JobQueue['cancel']> {
    return this.ask(job, (queue) => queue.cancel(id, options));
  }

  /**
   * Deletes a job with all its traces. A claimed one is refused (`processing`): cancel it first.
   *
   * @param job its definition, its name, or the name of its queue
   * @param options.ifStatus see JobQueue.remove
   */
  async remove(
    job: string | JobDefinition,
    ...[id, options]: Parameters<JobQueue['remove']>
  ): ReturnType<JobQueue['remove']> {
    return this.ask(job, (queue) => queue.remove(id, options));
  }

  /**
   * Gives a waiting job a new start. `{ delayMs: 0 }` promotes it now.
   *
   * @param job its definition, its name, or the name of its queue
   * @throws InvalidOptionError, also for a start by which the job would have expired; nothing is changed
   * @example await jobs.reschedule('remind', id, { runAt: new Date('2030-01-01T12:00:00Z') });
   */
  async reschedule(
    job: string | JobDefinition,
    ...[id, start]: Parameters<JobQueue['reschedule']>
  ): ReturnType<JobQueue['reschedule']> {
    return this.ask(job, (queue) => queue.reschedule(id, start));
  }

  /**
   * One page of the jobs in one state; see JobQueue.list.
   *
   * @param job a definition, a job's name, or the name of the queue; it shows all of the queue
   * @param options.limit at most 1,000. Default 50
   * @throws InvalidOptionError
   */
  async list(
    job: string | JobDefinition,
    ...[status, options]: Parameters<JobQueue['list']>
  ): Promise<JobRecord[]> {
    return this.ask(job, (queue) => queue.list(status, options));
  }

  /**
   * Deletes old jobs of one state, in bounded slices; see JobQueue.clean.
   *
   * @param job a definition, a job's name, or the name of the queue; it cleans the whole queue
   * @returns how many were deleted
   */
  async clean(job: string | JobDefinition, ...[status, options]: Parameters<JobQueue['clean']>): Promise<number> {
    const target = this.target(job, undefined);
    return clean(target, status, options, (question) => this.askQueue(target, question));
  }

  /**
   * Deletes all jobs of a queue, in every state, in bounded slices; only its counters stay.
   *
   * @param job a definition, a job's name, or the name of the queue; it empties the whole queue
   * @param options.confirm the queue's name, so that nobody does it by accident
   * @returns how many were deleted
   * @throws InvalidOptionError
   */
  async purge(job: string | JobDefinition, ...[options]: Parameters<JobQueue['purge']>): Promise<number> {
    const target = this.target(job, undefined);
    return purge(target, options, (question) => this.askQueue(target, question));
  }

  /**
   * Lists batches of a queue that have not ended; see JobQueue.listBatches.
   *
   * @param job a definition, a job's name, or the name of the batches' queue
   */
  async listBatches(
    job: string | JobDefinition,
    ...[options]: Parameters<JobQueue['listBatches']>
  ): ReturnType<JobQueue['listBatches']> {
    return this.ask(job, (queue) => queue.listBatches(options));
  }

  /** Pauses a queue for the whole fleet: it takes jobs in and hands none out. False when it was paused already. */
  async pause(job: string | JobDefinition): Promise<boolean> {
    return this.ask(job, (queue) => queue.pause());
  }

  /** Ends the pause of a queue. False when it was not paused. */
  async resume(job: string | JobDefinition): Promise<boolean> {
    return this.ask(job, (queue) => queue.resume());
  }

  /**
   * Returns the limits of a queue for the whole fleet, to be read, set and cleared at run time.
   *
   * @param job a definition, a job's name, or the name of the queue
   * @example await jobs.limits('api').set({ rateLimit: { limit: 10, periodMs: 1_000 } });
   */
  limits(job: string | JobDefinition): Limits {
    return this.target(job, undefined).limits;
  }

  /**
   * Returns the figures of a queue for each minute of the last 72 hours, to be read.
   *
   * @param job a definition, a job's name, or the name of the queue
   * @example const { points } = await jobs.history('email').read({ lastMs: 3_600_000 });
   */
  history(job: string | JobDefinition): History {
    return this.target(job, undefined).history;
  }

  /**
   * Returns the groups of a queue, to be read, and to be limited, paused and cleaned one by one.
   *
   * @param job a definition, a job's name, or the name of the queue
   * @example await jobs.groups('email').set('tenant-42', { weight: 3 });
   */
  groups(job: string | JobDefinition): Groups {
    return this.target(job, undefined).groups;
  }

  protected abstract target(job: string | JobDefinition, queue: string | undefined): JobQueue;

  protected abstract askQueue<Answer>(
    queue: JobQueue,
    question: (queue: JobQueue) => Promise<Answer>,
    waitMs?: number,
  ): Promise<Answer>;

  protected ask<Answer>(
    job: string | JobDefinition,
    question: (queue: JobQueue) => Promise<Answer>,
    waitMs = 0,
  ): Promise<Answer> {
    return this.askQueue(this.target(job, undefined), question, waitMs);
  }
}
