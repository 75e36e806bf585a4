import { DeadLetters } from '../../queue/dead-letters/dead-letters.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import type { BatchRecord } from '../../queue/model/batch.js';
import type { DoctorOptions, DoctorReport } from '../../queue/model/doctor-report.js';
import type { JobRecord, JobStatus, QueueStats } from '../../queue/model/job.js';
import type { PauseOptions } from '../../queue/model/pause.js';
import type { AuditTrail } from '../../queue/operate/audit-trail.js';
import { clean, type CleanableStatus, type CleanOptions } from '../../queue/operate/clean.js';
import type { ListOptions } from '../../queue/operate/find-jobs.js';
import type { Groups } from '../../queue/operate/groups.js';
import type { History } from '../../queue/operate/history.js';
import type { Limits } from '../../queue/operate/limits.js';
import { purge, type PurgeOptions } from '../../queue/operate/purge.js';
import { checkObject } from '../../queue/validation/validate-options.js';
import { JobAdminApi } from './job-admin-api.js';
import { onlyQueue, takeQueue, type QueueChoice } from './queue-choice.js';

/** The verbs of operators for a whole queue. JobQueueService adds those of producers, and of this process's worker. */
export abstract class QueueAdminApi extends JobAdminApi {
  /** Returns the names of all queues that this process knows: of its handlers, of `forRoot({ queues })`, and those asked for. */
  queueNames(): string[] {
    return this.queues.all.map((queue) => queue.name);
  }

  /** Returns depths, ages and counters of one queue, or of all queues that this process knows, by name. */
  stats(job: string | JobDefinition, options?: QueueChoice): Promise<QueueStats>;
  /** Returns the figures of each queue that the process knows, by name. */
  stats(): Promise<Record<string, QueueStats>>;
  async stats(
    job?: string | JobDefinition,
    options: QueueChoice = {},
  ): Promise<QueueStats | Record<string, QueueStats>> {
    if (job !== undefined) {
      return this.ask(job, (queue) => queue.stats(), onlyQueue('stats', options));
    }
    const names = this.queues.all.map((queue) => queue.name);
    const stats = await Promise.all(names.map((each) => this.askQueue(this.queue(each), (queue) => queue.stats())));
    return Object.fromEntries(names.map((each, i) => [each, stats[i]!]));
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
   * Deletes all jobs of a queue, in every state, in bounded slices. Its counters, schedules, limits, history and logs
   * stay; with `everything` nothing stays.
   *
   * @param job a definition, a job's name, or the name of the queue. The whole queue is emptied
   * @param options.confirm the queue's name, against accidents
   * @param options.everything true to delete every key of a queue without live workers. Default false
   * @returns how many jobs were deleted
   * @throws InvalidOptionError
   */
  async purge(job: string | JobDefinition, options: PurgeOptions & QueueChoice): Promise<number> {
    checkObject('purge', '{ confirm: the name of the queue }', options);
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
   * Audits a queue, and repairs it on request; see JobQueue.doctor.
   *
   * @param job a definition, a job's name, or the name of the queue. The whole queue is audited
   * @example const { counts, findings } = await jobs.doctor('email', { repair: true });
   */
  async doctor(job: string | JobDefinition, options: DoctorOptions & QueueChoice = {}): Promise<DoctorReport> {
    const { queue, rest } = takeQueue('doctor', options);
    return this.target(job, queue).doctor(rest);
  }

  /**
   * Returns the dead letters of a queue. The definition of the call, or of a handler here, checks an edited payload.
   *
   * @param job a definition, a job's name, or the name of the queue. `options.queue` overrides them. It shows all of it
   * @example await jobs.deadLetters('email').redriveAll({ error: 'ECONNREFUSED' });
   */
  deadLetters(job: string | JobDefinition, options: QueueChoice = {}): DeadLetters {
    const target = this.target(job, onlyQueue('deadLetters', options));
    return new DeadLetters(target, {
      ask: (question) => this.askQueue(target, question),
      definitionOf: (name) =>
        typeof job !== 'string' && job.name === name ? job : this.handlers.definitionOf(target.name, name),
    });
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
}
