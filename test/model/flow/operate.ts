// The steps of operators, of sweeps, and time that passes.
import type { JobQueue } from '#queue/job-queue.js';
import fc from 'fast-check';
import { JOB_STATUSES } from '#queue/model/job.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { drawnIndex, ask, given, HOUR, MINUTE, pick, rarely, step, type Side } from './side.js';
import { sealed } from '../../support/queue/unsealed.js';

/** Redrives with an id that both sides have, instead of a random one. */
async function redriveAsNew(side: Side, id: string, payload?: string) {
  const newId = `${id}+`;
  const reply = await ask(side, (calls) =>
    calls.deadLetters.redriveAsNew({ id, newId, payload: payload === undefined ? undefined : sealed(payload) }),
  );
  if (reply.outcome === 'redriven' && !side.ids.includes(newId)) {
    side.ids.push(newId);
  }
  return reply;
}

const verbs: [string, (side: Side, id: string) => Promise<unknown>][] = [
  ['cancel', ({ queue }, id) => queue.cancel(id)],
  [
    'cancelAndReturn',
    async (side, id) => {
      const { outcome, cancelled } = await ask(side, (calls) => calls.cancelAndReturn({ id, request: 'r' }));
      return { outcome, cancelled: cancelled?.id };
    },
  ],
  ['cancel, if it waits', (side, id) => ask(side, (calls) => calls.cancel({ id, ifStatus: 'pending' }))],
  ['remove', ({ queue }, id) => queue.remove(id)],
  ['remove, if it waits', (side, id) => ask(side, (calls) => calls.remove({ id, ifStatus: 'scheduled' }))],
  ['promote', ({ queue }, id) => queue.promote(id)],
  ['promote', ({ queue }, id) => queue.promote(id)],
  ['update', ({ queue }, id) => queue.update(id, 'newer')],
  [
    'update, if a mail',
    (side, id) => ask(side, (calls) => calls.update({ id, payload: sealed('"mail"'), name: side.named('mail') })),
  ],
  [
    'signal',
    ({ queue, named }, id) => queue.signal(id, named('ok'), 1).catch(({ reason, name }) => reason ?? name),
  ],
  [
    'signal again',
    ({ queue, named }, id) => queue.signal(id, named('ok'), 2).catch(({ reason, name }) => reason ?? name),
  ],
  [
    'signal another',
    ({ queue, named }, id) => queue.signal(id, named('more')).catch(({ reason, name }) => reason ?? name),
  ],
  ['setPriority', ({ queue }, id) => queue.setPriority(id, 5)],
  ['setPriority to none', ({ queue }, id) => queue.setPriority(id, 0)],
  ['reschedule', ({ queue }, id) => queue.reschedule(id, { delayMs: HOUR })],
  ['reschedule to now', ({ queue }, id) => queue.reschedule(id, { delayMs: 0 })],
  ['reschedule late', (side, id) => ask(side, (calls) => calls.reschedule({ id, runAtMs: side.now() + 3 * HOUR }))],
  ['runAgain', ({ queue }, id) => queue.runAgain(id)],
  ['runAgain, once', (side, id) => ask(side, (calls) => calls.runAgain({ id, request: 'r' }))],
  ['deadLetters.redrive', ({ queue }, id) => queue.deadLetters.redrive(id)],
  ['deadLetters.redrive, repaired', ({ queue }, id) => queue.deadLetters.redrive(id, { payload: 'repaired' })],
  [
    'deadLetters.markKind',
    ({ queue }, id) => queue.deadLetters.markKind(id.replaceAll(/\s/g, '-').slice(0, 64) || 'a', { note: 'seen' }),
  ],
  ['deadLetters.redriveAsNew', (side, id) => redriveAsNew(side, id)],
  ['deadLetters.redriveAsNew, repaired', (side, id) => redriveAsNew(side, id, '"repaired"')],
  ['deadLetters.discard', ({ queue }, id) => queue.deadLetters.discard(id)],
  ['result', ({ queue }, id) => queue.result(id, { timeoutMs: 0 }).catch((error: Error) => error.name)],
  ['deadLetters.get', ({ queue }, id) => queue.deadLetters.get(id).then((letter) => letter?.lastError)],
  ['deadLetters.redriveMany', ({ queue }, id) => queue.deadLetters.redriveMany([id, 'unknown'])],
  ['get', ({ queue }, id) => queue.get(id).then((job) => job?.status)],
  ['outcome', ({ queue }, id) => queue.outcome(id)],
];
export const onJob = fc.tuple(fc.constantFrom(...verbs), drawnIndex).map(([[name, does], number]) =>
  step(`${name}(${number})`, async (side) => {
    const id = pick(side.ids, number);
    return id === undefined ? undefined : does(side, id);
  }),
);

const rate = fc.constantFrom({ limit: 1, periodMs: HOUR, burst: 3 }, { limit: 1, periodMs: HOUR, burst: 1 });
const groupLimits = (rates: boolean) =>
  fc
    .record({
      maxRunning: rarely(fc.constantFrom(1, 1, 2)),
      weight: rarely(fc.constantFrom(1, 3)),
      rateLimit: rates ? rarely(rate) : fc.constant(undefined),
      onDeadHead: rarely(fc.constantFrom('skip', 'hold')),
      maxPending: rarely(fc.constant(4)),
      maxPendingBytes: rarely(fc.constant(8)),
    })
    .map(given);
export const onGroup = (group: string, rates: boolean) =>
  fc.oneof(
    groupLimits(rates).map((limits) =>
      step(`groups.set(${group}, ${JSON.stringify(limits)})`, ({ queue }) => queue.groups.set(group, limits)),
    ),
    fc.constantFrom(
      step(`groups.clear(${group})`, ({ queue }) => queue.groups.clear(group)),
      step(`groups.pause(${group})`, ({ queue }) => queue.groups.pause(group, { by: 'me', reason: 'test' })),
      step(`groups.pause(${group}, 30 min)`, ({ queue }) => queue.groups.pause(group, { forMs: 30 * MINUTE })),
      step(`groups.pause(${group}, 1 s), then for 2 s`, ({ queue }) => pauseGroupTwice(queue, group)),
      step(`groups.resume(${group})`, ({ queue }) => queue.groups.resume(group)),
      step(`groups.clean(${group})`, ({ queue }) => queue.groups.clean(group)),
      step(`groups.clean(${group}, old)`, ({ queue }) => queue.groups.clean(group, { olderThanMs: 30 * MINUTE })),
    ),
  );

const queueLimits = (rates: boolean) =>
  fc
    .record({
      maxRunning: rarely(fc.constantFrom(1, 3)),
      rateLimit: rates ? rarely(rate) : fc.constant(undefined),
      maxPending: rarely(fc.constant(6)),
      maxPendingBytes: rarely(fc.constant(20)),
    })
    .map(given);
export const onLimits = (rates: boolean) =>
  fc.oneof(
    queueLimits(rates).map((limits) =>
      step(`limits.set(${JSON.stringify(limits)})`, ({ queue }) => queue.limits.set(limits)),
    ),
    fc
      .constantFrom(2, null)
      .map((maxRunning) =>
        step(`limits.change(${maxRunning})`, ({ queue }) => queue.limits.change({ maxRunning })),
      ),
    fc.constant(step('limits.clear()', ({ queue }) => queue.limits.clear())),
  );

const ages = fc.constantFrom(0, 30 * MINUTE);
const onQueue = fc.oneof(
  { weight: 2, arbitrary: fc.constant(step('pause()', ({ queue }) => queue.pause({ by: 'me' }))) },
  { weight: 1, arbitrary: fc.constant(step('pause(1 s), then for 2 s', ({ queue }) => pauseTwice(queue))) },
  { weight: 3, arbitrary: fc.constant(step('resume()', ({ queue }) => queue.resume())) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom('pending', 'scheduled', 'completed', 'failed', 'cancelled'), ages)
      .map(([status, olderThanMs]) =>
        step(`clean(${status}, ${olderThanMs})`, ({ queue }) => queue.clean(status, { olderThanMs })),
      ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom(...JOB_STATUSES), ages).map(([status, olderThanMs]) =>
      step(`list(${status}, ${olderThanMs})`, async ({ queue }) => {
        const jobs = await queue.list(status, { olderThanMs, metadata: { tenant: 'a' }, limit: 100 });
        return jobs.map(({ id }) => id);
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom<'list' | 'redriveAll' | 'discardAll'>('list', 'redriveAll', 'discardAll')
      .map((verb) =>
        step(`deadLetters.${verb}`, async ({ queue }) => {
          const found = await queue.deadLetters[verb]({ error: 'NO', olderThanMs: 1 });
          return typeof found === 'number' ? found : found.jobs.map(({ id }) => id);
        }),
      ),
  },
  {
    weight: 2,
    arbitrary: fc.constant(step('purge()', ({ queue }) => queue.purge({ confirm: queue.name }))),
  },
);

const sweeps: [string, (side: Side) => Promise<unknown>][] = [
  ['reclaim', ({ queue }) => queue.reclaim()],
  ['reclaim one', ({ queue }) => queue.reclaim({ limit: 1 })],
  [
    'sweep.reclaimWorker',
    async (side) =>
      (
        await ask(side, (calls) =>
          calls.sweep.reclaimWorker({ worker: side.named('ada'), cursor: '0', limit: 500 }),
        )
      ).reclaimed,
  ],
  ['sweep.promote', (side) => ask(side, (calls) => calls.sweep.promote({ limit: 2 }))],
  ['sweep.tidy', (side) => ask(side, (calls) => calls.sweep.tidy({ limit: 500 }))],
  ['sweep.adoptForeign', (side) => ask(side, (calls) => calls.sweep.adoptForeign({ limit: 100 }))],
  ['sweep.adoptFailed', (side) => ask(side, (calls) => calls.sweep.adoptFailed({ ids: side.ids }))],
];
const reading = { pending: 1, processing: 0, oldestPendingAgeMs: 5, version: '1', gapMs: 30 * MINUTE };
const records: [string, (side: Side) => Promise<unknown>][] = [
  ['history.closeMinute', (side) => ask(side, (calls) => calls.history.closeMinute(reading))],
  ['history.reportVersion', (side) => ask(side, (calls) => calls.history.reportVersion({ version: '2' }))],
  [
    'history.addDurations',
    (side) =>
      ask(side, (calls) =>
        calls.history.addDurations({
          worker: side.named('ada'),
          batch: `at ${side.now()}`,
          counts: ['w1', 2, 'r3', 1],
        }),
      ),
  ],
  [
    'alerts.takeTurn',
    async (side) => (await ask(side, (calls) => calls.alerts.takeTurn({ token: 't', everyMs: 0 })))?.record,
  ],
  [
    'alerts.takeTurn of another',
    async (side) => (await ask(side, (calls) => calls.alerts.takeTurn({ token: 'u', everyMs: 0 })))?.record,
  ],
  ['alerts.told', (side) => ask(side, (calls) => calls.alerts.told({ token: 't', record: 'r' }))],
  ['history.read', ({ queue }) => queue.history.read({ lastMs: 12 * HOUR, stepMs: 10 * MINUTE })],
];
const minute = fc.constantFrom(...records).map(([name, does]) => step(name, does));

const sweep = fc.constantFrom(...sweeps).map(([name, does]) => step(name, does));

const pass = fc
  .constantFrom(1, 11, 31, 61)
  .map((minutes) => step(`${minutes} min pass`, async () => undefined, minutes * MINUTE));

export const operate = fc.oneof(
  { weight: 4, arbitrary: onQueue },
  { weight: 3, arbitrary: sweep },
  { weight: 3, arbitrary: pass },
  { weight: 2, arbitrary: minute },
);

/** Runs maintenance, so that both sides have reported each end. */
export async function maintain({ queue, other }: Side): Promise<void> {
  await maintainBatches(queue, { all: true });
  await maintainBatches(other, { all: true });
  await maintainBatches(queue, { all: true });
  await queue.exec((calls) => calls.sweep.promote({ limit: 100 }));
}

/** Pauses a group, and gives the pause a later end. */
async function pauseGroupTwice({ groups }: JobQueue, group: string): Promise<boolean[]> {
  return [await groups.pause(group, { forMs: 1_000 }), await groups.pause(group, { forMs: 2_000 })];
}

/** Pauses the queue, and gives the pause a later end. */
async function pauseTwice(queue: JobQueue): Promise<boolean[]> {
  return [await queue.pause({ forMs: 1_000 }), await queue.pause({ forMs: 2_000 })];
}
