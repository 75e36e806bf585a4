import { JobQueueError } from './errors.js';

/** The schedule does not exist: it was never made, was removed, or no code declares it any more. */
export class ScheduleNotFoundError extends JobQueueError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'SCHEDULE_NOT_FOUND';

  constructor(
    /** The id of the schedule. */
    readonly scheduleId: string,
    /** The name of the queue. */
    readonly queue: string,
  ) {
    super(`Queue "${queue}" has no schedule ${scheduleId}: it was never made, or was removed.`);
  }
}
