import type { JobQueue } from '../../queue/job-queue.js';
import type { Recurrence } from '../../queue/model/schedule.js';
import type { ScheduleOptions, TypedScheduleOptions } from '../../queue/schedules/schedule.js';
import type { BulkHandler } from './bulk-handler.js';
import type { Handler, HandlerFunction } from './handler.js';

/** A recurring job that the code of a worker declares. */
export interface DeclaredSchedule {
  recurrence: Recurrence;
  /** Of a name whose handler is bound to a definition, the payload must fit its schema. */
  options?: ScheduleOptions | TypedScheduleOptions;
  /** How errors name it. Default: by its id. */
  subject?: string;
}

/** One queue as a worker serves it. */
export interface WorkerQueue {
  queue: JobQueue;
  /** How many of its jobs this process runs at once. Default 10. */
  concurrency?: number;
  /**
   * How many jobs are claimed beyond those that run, so that the next begins without a round trip: one claimed ahead waits
   * for a slot here while other workers cannot take it, and goes back when this one stops. 0: none. Default, below a
   * concurrency of 20 and without a limit of the process: as many as begin within 5 ms, at the pace of late, at most ten,
   * and twenty with those that run; once one has waited for 50 to 100 ms all go back, and for 10 s none is claimed ahead.
   */
  prefetch?: number;
  /** The handlers by job name. */
  handlers: Readonly<Record<string, HandlerFunction | Handler | BulkHandler>>;
  /**
   * Handlers of final failures, by the name of the jobs that fail. For each dead letter of the name one job is enqueued, in the
   * step that makes the dead letter: no failure is missed, and each is told once. Its payload is a JobFailure.
   *
   * @example onFailed: { email: (job: Job<JobFailure>) => alert(`${job.payload.id}: ${job.payload.error}`) }
   */
  onFailed?: Readonly<Record<string, HandlerFunction | Handler>>;
  /** Recurring jobs by schedule id. One that no worker declares any more stops after 30 s and is removed after a day. */
  schedules?: Readonly<Record<string, DeclaredSchedule>>;
}
