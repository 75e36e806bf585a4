// Operators' actions, sweeps, and time that passes.
import fc from 'fast-check';
import { discard, matching, redrive } from '../rules/dead-letters.js';
import { cancel, clean, oldJobs, pause, purge, remove, reschedule, resume } from '../rules/operate.js';
import { promote } from '../rules/places.js';
import type { QueueModel } from '../rules/queue-model.js';
import { reclaim, tidy } from '../rules/sweep.js';
import { oneOf, pick, refusedOption, step, type Step } from '../step.js';
import { changes } from './change-job.js';
import { onJob, whichJob } from './on-job.js';
import { MINUTE } from './units.js';

const onOne = fc
  .tuple(whichJob, fc.constantFrom('cancel', 'cancel', 'remove', 'discard', 'redrive'))
  .map(([number, verb]) => {
    switch (verb) {
      case 'cancel':
        return onJob('cancel', number, (real, id) => real.queue.cancel(id), cancel);
      case 'remove':
        return onJob('remove', number, (real, id) => real.queue.remove(id), remove);
      case 'discard':
        return onJob(
          'deadLetters.discard',
          number,
          (real, id) => real.queue.deadLetters.discard(id),
          (model, id) => discard(model, [id]) === 1,
        );
      default:
        return onJob(
          'deadLetters.redrive with a payload',
          number,
          (real, id) => real.queue.deadLetters.redrive(id, { payload: 'repaired' }),
          (model, id) => redrive(model, [id], 'repaired') === 1,
        );
    }
  });

const delays = fc
  .constantFrom(0, 10 * MINUTE, 30 * MINUTE)
  .map((delayMs) => ({ by: 'delayMs' as const, ms: delayMs }));
const times = fc
  .constantFrom(-10 * MINUTE, 45 * MINUTE)
  .map((offsetMs) => ({ by: 'runAt' as const, ms: offsetMs }));

const reschedules = fc.tuple(whichJob, fc.oneof(delays, times)).map(([number, { by, ms }]) =>
  onJob(
    `reschedule(${by}: ${ms / MINUTE} min)`,
    number,
    async (real, id) => {
      const start = by === 'delayMs' ? { delayMs: ms } : { runAt: new Date((await real.now()) + ms) };
      return real.queue.reschedule(id, start).catch(refusedOption);
    },
    (model, id) => reschedule(model, id, by, ms),
  ),
);

const redrives = fc.array(whichJob, { minLength: 1, maxLength: 4 }).map((numbers) => {
  const idsOf = (model: QueueModel) => numbers.map((number) => pick(model.ids, number));
  return step(`deadLetters.redriveMany of jobs ${numbers.map((number) => `-${number + 1}`).join(' ')}`, {
    when: (model) => model.ids.length > 0,
    does: (real, model) => real.queue.deadLetters.redriveMany(idsOf(model)),
    says: (model) => redrive(model, [...new Set(idsOf(model))]),
  });
});

const deadLetters = fc
  .tuple(fc.constantFrom('list', 'list', 'redriveAll', 'discardAll'), fc.constantFrom(undefined, 'econn', 'worker'))
  .map(([verb, error]) =>
    step(`deadLetters.${verb}(${error ?? ''})`, {
      does: async (real) => {
        const filter = error === undefined ? {} : { error };
        const letters = real.queue.deadLetters;
        return verb === 'list'
          ? (await letters.list(filter)).jobs.map(({ id }) => id)
          : letters[verb as 'redriveAll'](filter);
      },
      says: (model) => {
        const ids = matching(model, error).map(({ id }) => id);
        return verb === 'list'
          ? ids.toReversed()
          : verb === 'redriveAll'
            ? redrive(model, ids)
            : discard(model, ids);
      },
    }),
  );

const pauses = fc.constantFrom(
  step('pause', { does: (real) => real.queue.pause(), says: pause }),
  step('resume', { does: (real) => real.queue.resume(), says: resume }),
  step('resume', { does: (real) => real.queue.resume(), says: resume }),
);

const cleans = fc
  .tuple(
    fc.constantFrom('pending', 'scheduled', 'completed', 'failed', 'cancelled' as const),
    fc.constantFrom(0, 32 * MINUTE),
  )
  .map(([status, olderThanMs]) =>
    step(`clean(${status}, ${olderThanMs / MINUTE} min)`, {
      does: (real) => real.queue.clean(status as 'pending', { olderThanMs }),
      says: (model) => clean(model, status as 'pending', olderThanMs),
    }),
  );

const lists = fc
  .tuple(fc.constantFrom('pending', 'scheduled' as const), fc.constantFrom(0, 32 * MINUTE))
  .map(([status, olderThanMs]) =>
    step(`list(${status}, ${olderThanMs / MINUTE} min)`, {
      does: async (real) => idsIn(await real.queue.list(status as 'pending', { olderThanMs, limit: 1_000 })),
      says: (model) => idsIn(oldJobs(model, status as 'pending', olderThanMs)),
    }),
  );

function idsIn(jobs: readonly { id: string }[]): string[] {
  return jobs.map(({ id }) => id).toSorted();
}

const purges = fc.constant(
  step('purge', {
    does: (real) => real.queue.purge({ confirm: real.queue.name }),
    says: purge,
  }),
);

export const operations: fc.Arbitrary<Step> = oneOf(
  [6, onOne],
  [2, reschedules],
  [2, redrives],
  [2, deadLetters],
  [2, pauses],
  [2, cleans],
  [2, lists],
  [1, purges],
  [3, changes],
);

const passes = fc.constantFrom(3, 12, 12, 22, 47, 95).map((minutes) =>
  step(`${minutes} min pass`, {
    does: (real) => real.letTimePass(minutes * MINUTE),
    says: (model) => {
      model.passed += minutes * MINUTE;
      model.setNow(model.now + minutes * MINUTE);
    },
  }),
);

const reclaims = fc.constantFrom(1, 2, 500).map((limit) =>
  step(`reclaim(${limit})`, {
    does: (real) => real.queue.reclaim({ limit }),
    says: (model) => reclaim(model, limit),
  }),
);

const sweeps = fc.constantFrom(
  step('promote(2)', {
    does: (real) => real.queue.exec((calls) => calls.sweep.promote(2)),
    says: (model) => promote(model, 2),
  }),
  step('tidy', {
    does: async (real) => (await real.queue.exec((calls) => calls.sweep.tidy(500))).more,
    says: (model) => {
      tidy(model);
      return false;
    },
  }),
);

export const timePasses: fc.Arbitrary<Step> = oneOf([4, passes], [3, reclaims], [2, sweeps]);
