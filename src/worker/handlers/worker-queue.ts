import type { JobQueue } from '../../queue/job-queue.js';
import type { Recurrence } from '../../queue/model/schedule.js';
import type { ScheduleOptions, TypedScheduleOptions } from '../../queue/schedules/schedule.js';
import type { BulkHandler } from './bulk-handler.js';
import type { Handler, HandlerFunction } from './handler.js';

/** A recurring job that a worker's code declares. */
export interface DeclaredSchedule {
  /** Its due times. */
  recurrence: Recurrence;
  /** The payload must fit the schema if the handler of the name has a definition. */
  options?: ScheduleOptions | TypedScheduleOptions | undefined;
  /** The name of the schedule in errors. By default its id. @internal */
  subject?: string | undefined;
}

/** A queue as a worker serves it. */
export interface WorkerQueue {
  /** The served queue. */
  queue: JobQueue;
  /** The number of its jobs that this process runs at once. @default 10 */
  concurrency?: number | undefined;
  /**
   * The number of jobs that the worker claims beyond its running ones. The next job then starts without a round trip. A
   * prefetched job waits for a slot of this worker, and no other worker can take it. It is released when this worker
   * stops. 0 forbids prefetching. By default the worker prefetches what ends during a round trip, or up to ten jobs. By
   * its recent pace they start within 7 ms. If a prefetched job waits longer than 10 ms, its queue releases all of
   * them. Prefetching then pauses for 1 to 16 s. Under a limit of the process it never prefetches more than starts soon in the
   * slots of all queues.
   */
  prefetch?: number | undefined;
  /** The handlers by job name. A handler of the name `*` gets the jobs of every name without a handler here. */
  handlers: Readonly<Record<string, HandlerFunction | Handler | BulkHandler>>;
  /**
   * Handlers of final failures, by the name of the failed jobs. The script that makes a dead letter also enqueues one job
   * for it, so no failure is missed. The payload of that job is a JobFailure.
   *
   * @example onFailed: { email: (job: Job<JobFailure>) => alert(`${job.payload.id}: ${job.payload.error}`) }
   */
  onFailed?: Readonly<Record<string, HandlerFunction | Handler>> | undefined;
  /** Recurring jobs by schedule id. A schedule that no worker declares stops after 30 s and is removed after a day. */
  schedules?: Readonly<Record<string, DeclaredSchedule>> | undefined;
}
