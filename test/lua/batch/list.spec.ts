import { expect, it } from '@jest/globals';
import { DEFINITION, seededBatch } from '../../support/queue/seeded-batch.js';

it('lists batches that have not ended, at most as many as it was asked for', async () => {
  const q = await seededBatch('x');
  const { batches } = q.scripts;
  await q.run(batches.create({ ...DEFINITION, id: 'c', followUps: [] }));
  await q.run(batches.create({ ...DEFINITION, id: 'ended', followUps: [] }));
  await q.run(batches.seal({ id: 'ended' }));
  const found = await q.run(batches.list({ offset: 0, limit: 10 }));
  expect(Object.fromEntries(found.map(({ id, open }) => [id, open]))).toEqual({ b: 1, c: 0 });
  expect(await q.run(batches.list({ offset: 0, limit: 1 }))).toHaveLength(1);
});

it('lists the oldest of the batches that have not ended first, in pages, whenever the sweep checks them next', async () => {
  const q = await seededBatch();
  const { batches } = q.scripts;
  for (const id of ['c', 'd', 'gone']) await q.run(batches.create({ ...DEFINITION, id, followUps: [] }));
  const now = await q.now();
  await q.redis.zadd(q.keys.batchesByAge, now - 1, 'b', now - 3, 'c', now - 3, 'd', now, 'gone');
  await q.redis.del(q.keys.batchRecord('gone'));
  await q.redis.zadd(q.keys.batches, 0, 'b', 1, 'gone', now, 'd', now + 60_000, 'c');
  const listed = async (offset: number, limit: number) =>
    (await q.run(batches.list({ offset, limit }))).map(({ id }) => id);
  expect(await listed(0, 10)).toEqual(['c', 'd', 'b']);
  expect(await listed(0, 1)).toEqual(['c']);
  expect(await listed(1, 2)).toEqual(['d', 'b']);
  expect(await listed(4, 1)).toEqual([]);
});

it('lists the oldest of more than ten thousand batches first', async () => {
  const q = await seededBatch();
  q.broken = true;
  const [pipeline, now] = [q.redis.pipeline(), await q.now()];
  for (let i = 0; i < 10_001; i++) {
    const [id, created] = [`open-${i}`, now - i];
    pipeline.hset(q.keys.batchRecord(id), 'created_at_ms', created);
    pipeline.zadd(q.keys.batches, i, id).zadd(q.keys.batchesByAge, created, id);
  }
  await pipeline.exec();
  const listed = await q.run(q.scripts.batches.list({ offset: 0, limit: 2 }));
  expect(listed.map(({ id }) => id)).toEqual(['open-10000', 'open-9999']);
});

it('lists a batch that a broken step has left out once the sweep has checked it', async () => {
  const q = await seededBatch();
  const [first] = await q.run(q.scripts.batches.list({ offset: 0, limit: 10 }));
  await q.redis.del(q.keys.batchesByAge);
  await q.run(q.scripts.sweep.maintainBatches({ limit: 100, all: true }));
  expect(await q.run(q.scripts.batches.list({ offset: 0, limit: 10 }))).toEqual([first]);
});

it('lists batches that have ended, the last first, as long as their records are there', async () => {
  const q = await seededBatch('x');
  const { batches } = q.scripts;
  const end = async (id: string) => {
    await q.run(batches.create({ ...DEFINITION, id, followUps: [] }));
    await q.run(batches.seal({ id }));
  };
  await end('first');
  await end('second');
  const now = await q.now();
  await q.redis.zadd(q.keys.batchesEnded, 'XX', now - 5, 'first', now - 3, 'second');
  await end('forgotten');
  await q.redis.del(q.keys.batchRecord('forgotten'));
  const listed = async (limit: number, offset = 0) =>
    (await q.run(batches.list({ offset, limit, ended: true }))).map(({ id, state }) => [id, state]);
  expect(await listed(10)).toEqual([
    ['second', 'ended'],
    ['first', 'ended'],
  ]);
  expect(await listed(1, 2)).toEqual([['first', 'ended']]);
  expect(await listed(1)).toEqual([]); // the record of the last one is gone
  expect(await q.redis.pttl(q.keys.batchesEnded)).toBeGreaterThan(604_000_000);
});

it('keeps the ids of a thousand ended batches, none for longer than a week', async () => {
  const q = await seededBatch();
  const now = await q.now();
  const ids = Array.from({ length: 1_100 }, (_, i) => [String(now - 2_000 + i), `b${i}`]).flat();
  await q.redis.zadd(q.keys.batchesEnded, String(now - 604_800_001), 'old', ...ids);
  await q.run(q.scripts.batches.create({ ...DEFINITION, id: 'last', followUps: [] }));
  await q.run(q.scripts.batches.seal({ id: 'last' }));
  const kept = await q.ranked(q.keys.batchesEnded);
  expect([kept.length, kept.at(-1), kept.includes('old'), kept.includes('b0')]).toEqual([
    1_000,
    'last',
    false,
    false,
  ]);
});

it.each(['batchesEnded', 'batchesByAge'] as const)(
  'ends a batch although another program has overwritten %s',
  async (key) => {
    const q = await seededBatch();
    await q.redis.set(q.keys[key], 'mine');
    await q.run(q.scripts.batches.create({ ...DEFINITION, id: 'last', followUps: [] }));
    await q.run(q.scripts.batches.seal({ id: 'last' }));
    expect(await q.run(q.scripts.batches.status({ id: 'last' }))).toMatchObject({ state: 'ended' });
  },
);
