// Schedules, and their due times.
import fc from 'fast-check';
import { ScheduleNotFoundError } from '#queue/errors/schedule-errors.js';
import type { Recurrence } from '#queue/model/schedule.js';
import { foundSchedule, ruledSchedule } from '../observed.js';
import {
  pauseSchedule,
  removeSchedule,
  resumeSchedule,
  runNow,
  tick,
  upsert,
  type ScheduleSettings,
} from '../rules/schedules.js';
import { oneOf, step, type Step } from '../step.js';
import { MINUTE } from './units.js';

const DAY = 24 * 60 * MINUTE;
const ids = fc.constantFrom('report', 'sweep');

const settings: fc.Arbitrary<ScheduleSettings> = fc.record({
  // Long enough that no tick comes due by itself. Nine in the morning in Tokyo is midnight in UTC.
  recurrence: fc.constantFrom<Recurrence[]>(
    { everyMs: 364 * DAY },
    { everyMs: 365 * DAY },
    { cron: '0 0 1 1 *' },
    { cron: '0 9 1 1 *', timeZone: 'Asia/Tokyo' },
    { everyMs: 364 * DAY, limit: 1 },
    { cron: '0 0 1 1 *', limit: 2, endAt: Date.UTC(2200, 0) },
    { everyMs: 365 * DAY, startAt: Date.UTC(2100, 3) },
    { cron: '0 0 1 1 *', startAt: Date.UTC(2000, 0), endAt: Date.UTC(2020, 0) },
  ),
  payload: fc.constantFrom('daily', 'weekly'),
  overlap: fc.boolean(),
  onMissed: fc.constantFrom('skip', 'once'),
  missedAfterMs: fc.constant(30 * MINUTE),
  priority: fc.constantFrom(undefined, undefined, 5),
});

const upserts = fc.tuple(ids, settings).map(([id, asked]) =>
  step(`schedules.upsert(${id}, ${JSON.stringify(asked)})`, {
    does: (real) => {
      const { recurrence, ...rest } = asked;
      return real.queue.schedules.upsert(id, recurrence, rest);
    },
    says: (model) => upsert(model, id, asked),
  }),
);

const falls = fc.tuple(ids, fc.constantFrom(1, 1, 45)).map(([id, minutes]) =>
  step(`schedule ${id} is due since ${minutes} min`, {
    when: (model) => model.schedules.get(id)?.dueAt !== undefined,
    does: (real) => real.makeDue(id, minutes * MINUTE),
    says: (model, due) => {
      model.schedules.get(id)!.dueAt = due + model.passed;
      return due;
    },
  }),
);

const ticks = fc.constant(
  step('schedules.tick', {
    does: async (real) => {
      const { enqueued, skipped, faults } = await real.queue.schedules.tick();
      return { enqueued, skipped, faults };
    },
    says: (model, _, real) => ({ ...tick(model, real.queue.name), faults: [] }),
  }),
);

const runs = ids.map((id) =>
  step(`schedules.runNow(${id})`, {
    does: async (real) => {
      try {
        const job = await real.queue.schedules.runNow(id);
        return { id: job.id, outcome: job.outcome };
      } catch (error) {
        if (error instanceof ScheduleNotFoundError) {
          return 'missing';
        }
        throw error;
      }
    },
    says: (model, found, real) => runNow(model, real.queue.name, id, typeof found === 'string' ? '' : found.id),
  }),
);

const looks = ids.map((id) =>
  step(`schedules.get(${id})`, {
    does: async (real, model) => {
      const schedule = await real.queue.schedules.get(id);
      return schedule && foundSchedule(schedule, model);
    },
    says: (model) => {
      const schedule = model.schedules.get(id);
      return schedule ? ruledSchedule(schedule) : null;
    },
  }),
);

const changes = fc.tuple(ids, fc.constantFrom('pause', 'resume', 'remove')).map(([id, verb]) => {
  switch (verb) {
    case 'pause':
      return step(`schedules.pause(${id})`, {
        does: (real) => real.queue.schedules.pause(id),
        says: (model) => pauseSchedule(model, id),
      });
    case 'resume':
      return step(`schedules.resume(${id})`, {
        does: (real) => real.queue.schedules.resume(id),
        says: (model) => resumeSchedule(model, id),
      });
    default:
      return step(`schedules.remove(${id})`, {
        does: (real) => real.queue.schedules.remove(id),
        says: (model) => removeSchedule(model, id),
      });
  }
});

export const recurs: fc.Arbitrary<Step> = oneOf(
  [3, upserts],
  [4, falls],
  [4, ticks],
  [2, runs],
  [2, changes],
  [1, looks],
);
