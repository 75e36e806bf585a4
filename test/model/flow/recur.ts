// Schedules: those of calls, and those that the code of workers declares.
import fc from 'fast-check';
import { encodeSchedule } from '#queue/schedules/schedule.js';
import type { Recurrence } from '#queue/model/schedule.js';
import { ask, MINUTE, step, type Side } from './side.js';

const ids = fc.constantFrom('report', 'sweep');
const recurrence = fc.constantFrom<Recurrence[]>(
  { everyMs: 10 * MINUTE },
  { everyMs: 60 * MINUTE },
  { cron: '*/30 * * * *' },
  { everyMs: 10 * MINUTE, limit: 1 },
);
const definition = fc.record({
  recurrence,
  payload: fc.constantFrom('daily', 'weekly'),
  overlap: fc.boolean(),
  onMissed: fc.constantFrom<('skip' | 'once')[]>('skip', 'once'),
});

const upsertIn = (group: object) =>
  fc
    .tuple(ids, definition)
    .map(([id, { recurrence: times, ...options }]) =>
      step(`schedules.upsert(${id}, ${JSON.stringify({ times, ...options })})`, ({ queue, named }) =>
        queue.schedules.upsert(named(id), times, { ...options, ...group }),
      ),
    );

const byCodeIn = (group: object) =>
  fc
    .tuple(ids, recurrence, fc.constantFrom('ada', 'bob'), fc.constantFrom('put', 'declare', 'leave'))
    .map(([id, times, worker, verb]) =>
      step(`schedules.${verb}(${id}, ${JSON.stringify(times)}) by ${worker}`, async ({ queue, named }: Side) => {
        const schedule = encodeSchedule(queue, named(id), times, group);
        return verb === 'put'
          ? queue.schedules.put(schedule, named(worker))
          : queue.schedules.declare(named(worker), verb === 'declare', [schedule]);
      }),
    );

/** Edits of somebody who knows the schedule as it is, knows another one, or none. */
const editIn = (group: object) =>
  fc
    .tuple(ids, definition, fc.constantFrom('current', 'new', 'other'))
    .map(([id, { recurrence: times, ...options }, known]) =>
      step(
        `schedules.putByCall(${id}, ${JSON.stringify({ times, ...options })}) of ${known}`,
        async ({ queue, named }: Side) => {
          const stored = await queue.schedules.get(named(id));
          const knownAt = { current: stored?.updatedAt ?? null, new: null, other: new Date(1) }[known]!;
          return queue.schedules.putByCall(
            encodeSchedule(queue, named(id), times, { ...options, ...group }),
            knownAt,
          );
        },
      ),
    );

const tick = fc
  .constantFrom(0, 10 * MINUTE)
  .map((ms) => step(`schedules.tick after ${ms} ms`, ({ queue }) => queue.schedules.tick(), ms));

const run = ids.map((id) =>
  step(`schedules.runNow(${id})`, (side) => {
    const name = side.named(id);
    return ask(side, (calls) =>
      calls.schedules.run({ id: name, jobId: `@schedule:${name}:run${side.ids.length}` }),
    );
  }),
);

const verbs = fc
  .tuple(ids, fc.constantFrom<'pause' | 'resume' | 'remove' | 'get'>('pause', 'resume', 'remove', 'get'))
  .map(([id, verb]) => step(`schedules.${verb}(${id})`, ({ queue, named }) => queue.schedules[verb](named(id))));

export function recurIn(name: string | undefined) {
  const group = name === undefined ? {} : { group: name };
  return fc.oneof(
    { weight: 3, arbitrary: upsertIn(group) },
    { weight: 2, arbitrary: editIn(group) },
    { weight: 3, arbitrary: byCodeIn(group) },
    { weight: 6, arbitrary: tick },
    { weight: 1, arbitrary: run },
    { weight: 2, arbitrary: verbs },
  );
}
