import { z } from 'zod';
import { checkRecurrence } from '../../../queue/schedules/recurrence.js';
import { queueName } from '../known-queue.js';

export const scheduleId = z
  .string({ error: 'expected the id of a schedule' })
  .max(100, 'expected at most 100 characters');

/** The times of a schedule, with the errors of the library. */
const recurrence = z.unknown().transform((value) => checkRecurrence('schedule', value));
/** What the library checks as it is stored. */
const unchecked = z.unknown().optional();

export const setSchema = z.strictObject({
  queue: queueName,
  id: scheduleId,
  recurrence,
  name: unchecked,
  onMissed: unchecked,
  overlap: unchecked,
  /** Absent: as stored. null: none, so that of the handler. */
  priority: unchecked,
  maxAttempts: unchecked,
  /** Absent: the payload stays as it is. */
  payload: unchecked,
  /** The time of the last change that the form knows; null for a new schedule. */
  updatedAt: z.number({ error: 'expected the time of the last change, or null' }).nullable(),
});

export const previewSchema = z.object({
  queue: queueName,
  id: scheduleId.default(''),
  /** As JSON, because a query has no objects. */
  recurrence: z
    .string({ error: 'expected JSON' })
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: 'custom', message: 'expected JSON' });
        return z.NEVER;
      }
    })
    .pipe(recurrence),
});
