// Each transition that lets a job start, or brings a due time nearer, wakes one idle worker. One that does not wakes none.
import { expect, it } from '@jest/globals';
import { HOUR, HOURLY, TestSchedules } from '../support/queue/schedules.js';
import { testQueue, type TestQueue } from '../support/queue/queue-state.js';
import { DEFINITION } from '../support/queue/seeded-batch.js';

const MINUTE = 60_000;
const ONE_EACH = { groups: { maxRunning: 1 } };
const ONE_A_MINUTE = { rateLimit: { limit: 1, periodMs: MINUTE } };

type Act = (q: TestQueue) => Promise<unknown>;

const nothing: Act = async () => undefined;
const setLimits = (limits: object) => (q: TestQueue) => q.run(q.scripts.limits.set(limits));
const schedulesOf = (q: TestQueue) => new TestSchedules(q);
const putSchedule =
  (payload: unknown): Act =>
  async (q) => {
    const schedules = schedulesOf(q);
    await schedules.put(schedules.define('s', HOURLY, { payload }));
  };

/** Completes the first job that a claim takes. A worker says whether its claim had a limit. */
async function completeFirst(q: TestQueue): Promise<unknown> {
  const { jobs, isLimited } = await q.run(q.claimCall(1));
  await q.takeWake();
  return q.run(q.scripts.complete([{ ...jobs[0]!, result: '' }], isLimited));
}

/** Adds a job to each of some groups in one call. */
const addToGroups = (q: TestQueue, count: number) => {
  const jobs = Array.from({ length: count }, (_, i) => {
    return { id: `j${i}`, name: q.name, payload: '1', options: JSON.stringify({ group: `g${i}` }) };
  });
  return q.run(q.enqueueCall(jobs));
};

/** Adds groups with a job each, and changes the settings of all groups. */
async function changeGroups(q: TestQueue, count: number): Promise<void> {
  await addToGroups(q, count);
  await setLimits({ groups: { maxRunning: 2 } })(q);
}

const promote: Act = (q) => q.run(q.scripts.sweep.promote({ limit: 10 }));

it.each<[what: string, wakes: boolean, seed: Act, act: Act]>([
  ['a schedule that is made', true, nothing, putSchedule(1)],
  ['a schedule with another definition', true, putSchedule(1), putSchedule(2)],
  ['a schedule that stays as it is', false, putSchedule(1), putSchedule(1)],
  [
    'a schedule whose pause ends',
    true,
    async (q) => {
      await putSchedule(1)(q);
      await q.run(q.scripts.schedules.pause({ id: 's' }));
    },
    async (q) => {
      const version = (await schedulesOf(q).field('s', 'version'))!;
      const next = { dueMs: (await q.now()) + HOUR, version };
      await q.run(q.scripts.schedules.resume({ id: 's', next }));
    },
  ],
  ['a schedule that was not paused', false, putSchedule(1), (q) => q.run(q.scripts.schedules.resume({ id: 's' }))],
  [
    'the end of a job that had a slot of the queue',
    true,
    async (q) => {
      await setLimits({ maxRunning: 1 })(q);
      await q.addAll('a', 'b');
    },
    completeFirst,
  ],
  [
    'the end of a job with options that had a slot of the queue',
    true,
    async (q) => {
      await setLimits({ maxRunning: 1 })(q);
      for (const id of ['a', 'b']) await q.add(id, { priority: 1 });
    },
    completeFirst,
  ],
  ['the end of a job of a queue without slots', false, (q) => q.addAll('a', 'b'), completeFirst],
  [
    'the end of a job with options in a queue with a rate alone',
    false,
    async (q) => {
      await setLimits(ONE_A_MINUTE)(q);
      for (const id of ['a', 'b']) await q.add(id, { priority: 1 });
    },
    completeFirst,
  ],
  [
    'the end of a job that had the only slot of its group',
    true,
    async (q) => {
      await setLimits(ONE_EACH)(q);
      for (const id of ['a', 'b']) await q.add(id, { group: 'g' });
    },
    completeFirst,
  ],
  [
    'the end of the last job of a group',
    false,
    async (q) => {
      await setLimits(ONE_EACH)(q);
      await q.add('a', { group: 'g' });
    },
    completeFirst,
  ],
  [
    'a claim that fills its worker while a rate makes the next job wait',
    true,
    async (q) => {
      await setLimits(ONE_A_MINUTE)(q);
      await q.addAll('a', 'b');
    },
    (q) => q.claim(1),
  ],
  [
    'a claim whose worker itself waits for the rate',
    false,
    async (q) => {
      await setLimits(ONE_A_MINUTE)(q);
      await q.addAll('a', 'b');
    },
    (q) => q.claim(2),
  ],
  ['a claim that leaves a job', true, (q) => q.addAll('a', 'b'), (q) => q.claim(1)],
  ['a claim that takes all', false, (q) => q.addAll('a', 'b'), (q) => q.claim(3)],
  ['limits that are set', true, nothing, setLimits({ maxRunning: 2 })],
  ['limits that are taken away', true, setLimits({ maxRunning: 1 }), (q) => q.run(q.scripts.limits.clear())],
  [
    'a batch that is sealed when all its members have ended',
    true,
    (q) => q.run(q.scripts.batches.create(DEFINITION)),
    (q) => q.run(q.scripts.batches.seal({ id: 'b' })),
  ],
  [
    'such a batch without a job behind it',
    false,
    (q) => q.run(q.scripts.batches.create({ ...DEFINITION, followUps: [] })),
    (q) => q.run(q.scripts.batches.seal({ id: 'b' })),
  ],
  ['a look at a slice of groups whose settings changed', true, (q) => changeGroups(q, 100), promote],
  ['a look at the last of them', false, (q) => changeGroups(q, 99), promote],
])('%s wakes a worker: %s', async (_, wakes, seed, act) => {
  const q = testQueue();
  await seed(q);
  await q.takeWake();
  await act(q);
  expect(await q.takeWake()).toBe(wakes);
});
