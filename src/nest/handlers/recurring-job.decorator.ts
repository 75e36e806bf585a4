import { InvalidOptionError } from '../../queue/errors/errors.js';
import type { Recurrence } from '../../queue/model/schedule.js';
import type { ScheduleOptions } from '../../queue/schedules/schedule.js';

// A fixed text, so that classes decorated by another copy of the package are found.
const RECURRING_METADATA = 'nest-job-queue:recurring';

/** Options of a recurring job that a handler declares. */
export interface RecurringJobOptions extends Omit<ScheduleOptions, 'name' | 'definition'> {
  /** The id of the schedule in its queue. @default the name of the handler's jobs */
  id?: string | undefined;
}

/** The record of a decorator; checked when the app boots. */
export interface RecurringRecord {
  recurrence: Recurrence;
  options: RecurringJobOptions;
}

/**
 * Makes a job recur: on a class or method that is a `@JobHandler` of one name. Can be used several times, with
 * different ids. One job is enqueued for each tick, with any number of processes. The schedule lives while a worker
 * with this decorator runs. Without the decorator, it stops 30 s after the last such worker is gone.
 *
 * A bad expression, time zone or option stops the app's boot with an InvalidOptionError. A payload that does not fit
 * its handler's definition stops it with an InvalidPayloadError.
 *
 * @param recurrence when it ticks, with `startAt`, `endAt`, `limit` and `jitterMs`
 * @example
 * \@JobHandler('report')
 * \@RecurringJob({ cron: '0 3 * * *', timeZone: 'Europe/Berlin' }, { payload: { kind: 'daily' }, onMissed: 'once' })
 * export class ReportHandler { … }
 */
export function RecurringJob(
  recurrence: Recurrence,
  options: RecurringJobOptions = {},
): ClassDecorator & MethodDecorator {
  return (target: object, method?: string | symbol, descriptor?: PropertyDescriptor) => {
    const place: unknown = method === undefined ? target : descriptor?.value;
    if (typeof place !== 'function' || (method !== undefined && typeof target === 'function')) {
      throw new InvalidOptionError(
        '@RecurringJob',
        'a class or an instance method',
        `${typeof place === 'function' ? 'the static method' : 'the property'} ${String(method)}`,
      );
    }
    const records = (Reflect.getOwnMetadata(RECURRING_METADATA, place) as RecurringRecord[] | undefined) ?? [];
    Reflect.defineMetadata(RECURRING_METADATA, [{ recurrence, options }, ...records], place);
  };
}

/** Returns the records of a class or a method. */
export function recurringRecords(place: object): RecurringRecord[] {
  return (Reflect.getMetadata(RECURRING_METADATA, place) as RecurringRecord[] | undefined) ?? [];
}
