// What an ended batch leaves in Redis: no payload, and a record for its time.
import { expect, it } from '@jest/globals';
import { refTo } from '#queue/store/job-ref.js';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';
import { DEFINITION } from '../../support/queue/seeded-batch.js';

const BIG = JSON.stringify({ text: 'x'.repeat(2_000) });
const local = (kind: 'then' | 'on_failure' | 'finally') => ({
  kind,
  name: kind,
  payload: BIG,
  options: { batch: '\tb' },
});
const far = { queue: 'mail', id: '@batch-of:home b:then' };

async function fieldsOf(q: TestQueue, id: string): Promise<string[]> {
  const fields = await q.redis.hkeys(q.keys.batchRecord(id));
  return fields.filter((field) => /_(payload|options)$/.test(field)).toSorted();
}

/** Ends an empty batch without follow-ups. */
async function end(q: TestQueue, id: string, options: object = {}): Promise<void> {
  await q.run(q.scripts.batches.create({ ...DEFINITION, id, followUps: [], ...options }));
  await q.run(q.scripts.batches.seal({ id }));
}

it('keeps the payloads until the follow-ups have ended, and then none', async () => {
  const q = testQueue();
  const followUps = [local('then'), local('on_failure'), local('finally')];
  await q.run(q.scripts.batches.create({ ...DEFINITION, followUps }));
  await q.run(q.scripts.batches.seal({ id: 'b' }));
  await q.run(q.scripts.sweep.promote({ limit: 10 }));
  const [first, second] = await q.claim(2);
  await q.complete(first!);
  expect(await fieldsOf(q, 'b')).toHaveLength(6);
  await q.complete(second!);
  expect(await q.run(q.scripts.batches.status({ id: 'b' }))).toMatchObject({ state: 'ended' });
  expect(await fieldsOf(q, 'b')).toEqual([]);
  const record = await q.redis.hgetall(q.keys.batchRecord('b'));
  expect(JSON.stringify(record).length).toBeLessThan(600);
});

it('keeps the payload for another queue until its sender acknowledges it', async () => {
  const q = testQueue();
  const { batches } = q.scripts;
  const options = { batch: refTo(q.name, 'b') };
  const followUps = [{ kind: 'then', name: 'then', payload: BIG, options, elsewhere: far } as const];
  await q.run(batches.create({ ...DEFINITION, followUps }));
  await q.run(batches.seal({ id: 'b' }));
  const entries = await q.run(batches.outbox({ limit: 10 }));
  const { fence } = await q.run(batches.followUps({ entries }));
  // Another sender was faster, and the follow-up has ended.
  await q.run(
    batches.deliver({ from: 'mail', ends: [{ ...far, batch: 'b', number: '5', state: 'completed', detail: '' }] }),
  );
  expect(await q.run(batches.status({ id: 'b' }))).toMatchObject({ state: 'ended' });
  expect((await q.run(batches.followUps({ entries }))).pending[0]!.job!.payload).toBe(BIG);
  expect(await q.run(batches.acknowledge({ ends: entries, fence }))).toBe(-1);
  expect(await fieldsOf(q, 'b')).toHaveLength(2);
  const { fence: last } = await q.run(batches.followUps({ entries }));
  expect(await q.run(batches.acknowledge({ ends: entries, fence: last }))).toBe(1);
  expect(await fieldsOf(q, 'b')).toEqual([]);
});

it.each([
  ['the time of its option', { recordTtlMs: 3_600_000 }, 3_600_000],
  ['never a shorter time than the outcomes', { recordTtlMs: 1, resultTtlMs: 120_000 }, 120_000],
  ['a week by default', {}, 604_800_000],
])('keeps a record for %s', async (_, options, lives) => {
  const q = testQueue();
  await end(q, 'b', options);
  const left = await q.redis.pttl(q.keys.batchRecord('b'));
  expect(left).toBeLessThanOrEqual(lives);
  expect(left).toBeGreaterThan(lives - 60_000);
});

it('keeps a thousand records beyond the time of the outcomes, and all of an id that the caller chose', async () => {
  const q = testQueue();
  await end(q, 'theirs');
  await end(q, 'random', { hasOwnId: false });
  await end(q, 'later', { hasOwnId: false });
  const now = await q.now();
  const others = Array.from({ length: 998 }, (_, i) => [String(now - 500), `other-${i}`]).flat();
  await q.redis.zadd(q.keys.batchesEnded, String(now - 1_000), 'theirs', String(now - 999), 'random', ...others);
  await end(q, 'last', { hasOwnId: false });
  const livesOf = (id: string) => q.redis.pttl(q.keys.batchRecord(id));
  expect(await livesOf('random')).toBeLessThanOrEqual(60_000);
  expect(await livesOf('random')).toBeGreaterThan(0);
  expect(await livesOf('theirs')).toBeGreaterThan(600_000_000);
  expect(await livesOf('later')).toBeGreaterThan(600_000_000);
  const kept = await q.ranked(q.keys.batchesEnded);
  expect([kept.length, kept.includes('random'), kept.includes('theirs')]).toEqual([1_000, false, false]);
});
