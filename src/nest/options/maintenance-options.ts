import { z } from 'zod';
import { checkOptions } from '../../queue/validation/validate-options.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { Recurrence } from '../../queue/model/schedule.js';
import { timerDuration } from '../../queue/validation/numbers.js';
import { checkRecurrence, nextTick } from '../../queue/schedules/recurrence.js';

/** The times of maintenance: at an interval in ms, or by a cron expression. */
export type MaintenanceSchedule = { everyMs: number } | { cron: string; timeZone?: string | undefined };

// Checked separately and not as a union, so that an error can name the key and suggest the intended one.
const maintenanceSchema = z.strictObject(
  {
    everyMs: timerDuration(100).optional(),
    cron: z
      .custom<string>((value) => typeof value === 'string' && isCron(value), {
        error: "expected a cron expression such as '*/10 * * * * *'",
      })
      .optional(),
    timeZone: z
      .custom<string>((value) => typeof value === 'string' && isTimeZone(value), {
        error: "expected a time zone such as 'Europe/Berlin'",
      })
      .optional(),
  },
  { error: 'expected false, { everyMs } or { cron }' },
);

/** @throws InvalidOptionError */
export function checkMaintenance(subject: string, value: unknown): MaintenanceSchedule | false {
  if (value === false) {
    return false;
  }
  const { everyMs, cron, timeZone } = checkOptions(subject, maintenanceSchema, value ?? { everyMs: 5_000 });
  if ((everyMs === undefined) === (cron === undefined)) {
    throw new InvalidOptionError(subject, 'either everyMs or cron', everyMs === undefined ? 'neither' : 'both');
  }
  if (everyMs === undefined) {
    return { cron: cron!, timeZone };
  }
  if (timeZone !== undefined) {
    throw new InvalidOptionError(`${subject}.timeZone`, 'none beside everyMs', show(timeZone));
  }
  return { everyMs };
}

/** Returns the time of the first maintenance after an instant, both in ms. */
export function nextMaintenanceAt(recurrence: Recurrence, ms: number): number {
  return recurrence.everyMs === undefined ? nextTick(recurrence, ms) : ms + recurrence.everyMs;
}

function isCron(expression: string): boolean {
  try {
    return checkRecurrence('cron', { cron: expression }).cron !== undefined;
  } catch {
    return false;
  }
}

function isTimeZone(name: string): boolean {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
}
