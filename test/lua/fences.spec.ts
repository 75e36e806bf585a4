// A step draws a number from the sequence of the queue. The number is above all before, and two of one step differ. They tell
// a repeat from a new step. So a number that is not raised lets one end hide another.
import { expect, it } from '@jest/globals';
import { refTo } from '#queue/store/job-ref.js';
import { testQueue, type TestQueue } from '../support/queue/queue-state.js';
import { DEFINITION } from '../support/queue/seeded-batch.js';

const BEFORE = 1_000;

/** Returns the numbers of the entries in the outbox. */
const inOutbox = async (q: TestQueue) =>
  (await q.run(q.scripts.batches.outbox({ limit: 10 }))).map(({ number }) => Number(number));

const reclaim = (q: TestQueue) => q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
const maintain = (q: TestQueue) => q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true }));
const fencesOf = (q: TestQueue, ...ids: string[]) =>
  Promise.all(ids.map(async (id) => Number(await q.field(id, 'fence'))));

/** Adds two members of a batch in another queue. */
const addRemote = (q: TestQueue) =>
  q.run(
    q.scripts.enqueue(
      ['x', 'y'].map((id) => ({ id, name: q.name, payload: '1', options: { batch: refTo('home', 'b') } })),
    ),
  );

interface Step {
  /** Makes the state before the step. */
  seed(q: TestQueue): Promise<unknown>;
  /** Draws two numbers. */
  draw(q: TestQueue): Promise<unknown>;
  numbers(q: TestQueue): Promise<number[]>;
}

const STEPS: Record<string, Step> = {
  'the ends of members elsewhere': {
    seed: addRemote,
    draw: async (q) => {
      for (const id of ['x', 'y']) await q.run(q.scripts.cancel({ id }));
    },
    numbers: inOutbox,
  },
  'members elsewhere that open again': {
    seed: async (q) => {
      await addRemote(q);
      for (const job of await q.claim(2)) await q.fail(job, { final: true });
      await q.redis.del(q.keys.batchOutbox);
    },
    draw: (q) => q.run(q.scripts.deadLetters.redrive({ ids: ['x', 'y'] })),
    numbers: inOutbox,
  },
  'the ends for two jobs elsewhere that wait for one': {
    seed: async (q) => {
      await q.add('x');
      const pairs = ['v', 'w'].map((waiting) => ({ id: 'x', waiting }));
      await q.run(q.scripts.batches.depend({ home: 'home', pairs }));
    },
    draw: (q) => q.run(q.scripts.cancel({ id: 'x' })),
    numbers: inOutbox,
  },
  'two follow-ups elsewhere': {
    seed: (q) => {
      const followUps = (['then', 'finally'] as const).map((kind) => ({
        kind,
        name: kind,
        payload: '1',
        options: { batch: refTo(q.name, 'b') },
        elsewhere: { queue: 'mail', id: `@batch-of:home b:${kind}` },
      }));
      return q.run(q.scripts.batches.create({ ...DEFINITION, followUps }));
    },
    draw: (q) => q.run(q.scripts.batches.seal({ id: 'b' })),
    numbers: inOutbox,
  },
  'two jobs that must not run': {
    seed: async (q) => {
      const job = await q.addAndClaim('x');
      for (const id of ['v', 'w']) await q.add(id, { after: ['x'] });
      await q.fail(job, { final: true });
    },
    draw: maintain,
    numbers: (q) => fencesOf(q, 'v', 'w'),
  },
  'two claims that expired': {
    seed: async (q) => {
      await q.addAll('x', 'y');
      await q.claim(2);
      await q.expireClaims('x', 'y');
    },
    draw: reclaim,
    numbers: (q) => fencesOf(q, 'x', 'y'),
  },
  'two jobs that the doctor puts back': {
    seed: async (q) => {
      await q.addAll('x', 'y');
      await q.redis.del(q.keys.pending);
    },
    draw: (q) => q.run(q.scripts.doctor.inspect({ ids: ['x', 'y'], repair: true })),
    numbers: (q) => fencesOf(q, 'x', 'y'),
  },
  'two claims of one call': {
    seed: (q) => q.addAll('x', 'y'),
    draw: (q) => q.claim(2),
    numbers: (q) => fencesOf(q, 'x', 'y'),
  },
  'two jobs of one priority': {
    seed: async () => undefined,
    draw: async (q) => {
      for (const id of ['x', 'y']) await q.add(id, { priority: 0, lifo: false, group: 'g' });
    },
    numbers: async (q) => {
      const scores = await q.redis.zrange(`${q.keys.groupsPrefix}waiting:g`, 0, '-1', 'WITHSCORES');
      return [scores[1], scores[3]].map((score) => Number(score) % 2 ** 40);
    },
  },
  'two ids that are too long': {
    seed: async (q) => {
      q.broken = true;
      for (const id of ['x', 'y'].map((letter) => letter.repeat(2_000))) {
        await q.redis.hset(q.keys.job(id), { name: q.name, payload: '1', status: 'processing' });
        await q.redis.zadd(q.keys.claims, 1, id);
      }
    },
    draw: reclaim,
    numbers: async (q) => (await q.ranked(q.keys.dead)).map((id) => Number(id.replace('@oversized:', ''))),
  },
};

it.each(Object.entries(STEPS))('%s have numbers of their own', async (_, { seed, draw, numbers }) => {
  const q = testQueue();
  await seed(q);
  await q.redis.set(q.keys.sequence, BEFORE);
  await draw(q);
  const drawn = await numbers(q);
  const last = Number(await q.redis.get(q.keys.sequence));
  expect(drawn).toHaveLength(2);
  expect(new Set(drawn).size).toBe(2);
  expect(Math.min(...drawn)).toBeGreaterThan(BEFORE);
  expect(Math.max(...drawn)).toBeLessThanOrEqual(last);
});
