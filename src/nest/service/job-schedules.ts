import { isJobDefinition, type JobDefinition, type PayloadInput } from '../../queue/enqueue/define-job.js';
import { checkObject } from '../../queue/validation/validate-options.js';
import type { JobHandle } from '../../queue/results/job-handle.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { Recurrence } from '../../queue/model/schedule.js';
import type { ScheduleOptions } from '../../queue/schedules/schedule.js';
import type { Schedules } from '../../queue/schedules/schedules.js';
import type { ScheduleRecord } from '../../queue/model/schedule.js';
import { takeQueue, type QueueChoice } from './enqueue-call.js';

/** Options of an upsert through the service. */
export interface UpsertScheduleOptions extends Omit<ScheduleOptions, 'name' | 'definition'> {
  /** The queue of its jobs. @default the definition's, that of the handler in this process, else the one named as the job */
  queue?: string | undefined;
}

/** The payload of a definition's jobs is of its type. */
export type PayloadOption<Job> = Job extends JobDefinition ? { payload: PayloadInput<Job> } : { payload?: unknown };

/** Finds the queue of a schedule. */
interface ScheduleHomes {
  /** Returns the queue of a schedule. With `spread` it is the first shard, whose name another number of shards does not change. */
  of(job: string | JobDefinition, queue: string | undefined): JobQueue;
  all(): readonly JobQueue[];
}

/**
 * Manages the recurring jobs, those of decorators and those made here. `job` is a definition, a job's name, or the name of the
 * queue.
 *
 * @example
 * await jobs.schedules.upsert('report', 'report-eu', { cron: '0 3 * * *', timeZone: 'Europe/Berlin' }, { payload: 'eu' });
 */
export class JobSchedules {
  /** @internal */
  constructor(private readonly homes: ScheduleHomes) {}

  /**
   * Creates or changes a schedule, which lives until it is removed. An equal one changes nothing, so it may be called
   * at every start.
   *
   * @param job the name of its jobs, or their definition, which gives defaults and the payload's schema
   * @param id names it within its queue; 1 to 100 of A-Z a-z 0-9 _ . : @ -
   * @throws InvalidOptionError, also if a decorator declares that id; InvalidPayloadError with the path of the fault.
   *   Nothing was written
   */
  async upsert<Job extends string | JobDefinition>(
    job: Job,
    id: string,
    recurrence: Recurrence,
    options?: UpsertScheduleOptions & PayloadOption<Job>,
  ): Promise<'created' | 'changed' | 'unchanged'>;
  async upsert(
    job: string | JobDefinition,
    id: string,
    recurrence: Recurrence,
    options: UpsertScheduleOptions = {},
  ): Promise<'created' | 'changed' | 'unchanged'> {
    if (typeof id !== 'string') {
      const hint = "Write upsert('report', 'nightly', { cron: '0 3 * * *' }).";
      throw new InvalidOptionError(
        'schedules.upsert',
        'a job, an id and a recurrence',
        `${show(job)} and ${show(id)}`,
        hint,
      );
    }
    checkObject(`schedule ${show(id)}`, 'an object of schedule options', options);
    const { queue, ...rest } = options;
    const asked = isJobDefinition(job) ? { payload: null, ...rest, definition: job } : { ...rest, name: job };
    return this.homes.of(job, queue).schedules.upsert(id, recurrence, asked);
  }

  /**
   * Returns one page of the schedules of a queue, or of each queue that this process knows. Each page starts with the
   * next due schedule and ends with paused ones.
   *
   * @param options.limit at most 1,000. Default 50
   * @param options.queue the queue, if the job does not determine it
   * @throws InvalidOptionError
   * @example const next = await jobs.schedules.list('report', { offset: 50, limit: 50 });
   */
  async list(
    job?: string | JobDefinition,
    options: { offset?: number | undefined; limit?: number | undefined } & QueueChoice = {},
  ): Promise<ScheduleRecord[]> {
    const { queue: given, rest } = takeQueue('schedules.list', options);
    const all = job === undefined && given === undefined;
    const queues = all ? this.homes.all() : [this.homes.of(job ?? given!, given)];
    const lists = await Promise.all(queues.map((queue) => queue.schedules.list(rest)));
    return lists.flat();
  }

  /** Returns a schedule, or null for an unknown id. */
  async get(job: string | JobDefinition, id: string, options: QueueChoice = {}): Promise<ScheduleRecord | null> {
    return this.of(job, options).get(id);
  }

  /** Stops its ticks for the whole fleet until it is resumed, also across deploys. Missed ticks are not made up. */
  async pause(job: string | JobDefinition, id: string, options: QueueChoice = {}): Promise<'paused' | 'missing'> {
    return this.of(job, options).pause(id);
  }

  /** Ends a pause. The schedule continues with the next time of its recurrence. */
  async resume(job: string | JobDefinition, id: string, options: QueueChoice = {}): Promise<'resumed' | 'missing'> {
    return this.of(job, options).resume(id);
  }

  /**
   * Deletes a schedule. The jobs that it enqueued stay.
   *
   * @throws InvalidOptionError if a decorator declares it, which would create it again
   */
  async remove(job: string | JobDefinition, id: string, options: QueueChoice = {}): Promise<'removed' | 'missing'> {
    return this.of(job, options).remove(id);
  }

  /**
   * Enqueues its job now, also while it is paused. Its ticks stay as they are.
   *
   * @throws ScheduleNotFoundError
   */
  async runNow<Result = unknown>(
    job: string | JobDefinition,
    id: string,
    options: QueueChoice = {},
  ): Promise<JobHandle<Result>> {
    return this.of(job, options).runNow<Result>(id);
  }

  private of(job: string | JobDefinition, options: QueueChoice): Schedules {
    return this.homes.of(job, takeQueue('schedules', options).queue).schedules;
  }
}
