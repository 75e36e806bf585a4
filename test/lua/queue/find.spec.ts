import { expect, it } from '@jest/globals';
import type { JobQuery } from '#queue/store/job-queries.js';
import { expectUnchanged, testQueue, type TestQueue, queueWith } from '../../support/queue/queue-state.js';

const QUERY = { place: 0, looks: 3, skip: 0, most: 10 };

/** Returns metadata as an enqueue stores it. */
function withMetadata(metadata: Record<string, string>) {
  return { worker: JSON.stringify({ metadata }) };
}

async function find(q: TestQueue, query: Partial<JobQuery> = {}) {
  const { jobs, passed, next } = await q.run(q.scripts.find({ status: 'pending', query: { ...QUERY, ...query } }));
  return { ids: jobs.map(({ id }) => id), passed, next };
}

it('looks at one slice, and says where the next begins', async () => {
  const q = testQueue();
  for (let i = 0; i < 7; i++) await q.add(`j${i}`, i % 2 ? withMetadata({ odd: 'yes' }) : {});
  const look = (place: number, more: object = {}) =>
    expectUnchanged(q, () =>
      q.run(q.scripts.find({ status: 'pending', query: { ...QUERY, place, metadata: { odd: 'yes' }, ...more } })),
    );
  const shown = ({ jobs, ...rest }: Awaited<ReturnType<typeof look>>) => ({
    ids: jobs.map(({ id }) => id),
    ...rest,
  });
  expect(shown(await look(0))).toEqual({ ids: ['j1'], passed: 0, next: 3 });
  expect(shown(await look(3))).toEqual({ ids: ['j3', 'j5'], passed: 0, next: 6 });
  expect(shown(await look(3, { most: 1 }))).toEqual({ ids: ['j3'], passed: 0, next: 4 });
  expect(shown(await look(3, { skip: 1 }))).toEqual({ ids: ['j5'], passed: 1, next: 6 });
  expect(shown(await look(6))).toEqual({ ids: [], passed: 0, next: undefined });
});

it('finds jobs of groups and with a priority among the waiting', async () => {
  const q = testQueue();
  await q.add('plain');
  await q.add('urgent', { priority: 5, ...withMetadata({ of: 'a' }) });
  await q.add('grouped', { group: 'g', ...withMetadata({ of: 'a' }) });
  const { jobs } = await q.run(q.scripts.find({ status: 'pending', query: { ...QUERY, metadata: { of: 'a' } } }));
  expect(jobs.map(({ id }) => id)).toEqual(['urgent', 'grouped']);
});

it('skips a hash that is gone, broken or of another state', async () => {
  const q = await queueWith('gone', 'text', 'sound');
  await q.redis.del(q.keys.job('gone'), q.keys.job('text'));
  await q.redis.set(q.keys.job('text'), 'text');
  await q.redis.hset(q.keys.job('sound'), 'options', 'no JSON');
  const found = (more: object) => q.run(q.scripts.find({ status: 'pending', query: { ...QUERY, ...more } }));
  expect((await found({ name: q.name })).jobs.map(({ id }) => id)).toEqual(['sound']);
  expect((await found({ metadata: { a: 'b' } })).jobs).toEqual([]);
  await q.redis.lpush(q.keys.completed, 'sound');
  expect((await q.run(q.scripts.find({ status: 'completed', query: { ...QUERY, name: q.name } }))).jobs).toEqual(
    [],
  );
  q.broken = true;
});

it('matches by name, age and metadata', async () => {
  const q = await queueWith('a', 'b', 'c');
  await q.redis.hset(q.keys.job('a'), 'options', '{"metadata":{"tenant":"acme"}}');
  await q.redis.hset(q.keys.job('b'), 'options', '{"metadata":{"tenant":"other"}}');
  await q.redis.hset(q.keys.job('c'), { name: 'email', ready_at_ms: (await q.now()) - 60_000 });
  expect((await find(q, { metadata: { tenant: 'acme' } })).ids).toEqual(['a']);
  expect((await find(q, { name: 'email' })).ids).toEqual(['c']);
  expect((await find(q, { olderThanMs: 30_000 })).ids).toEqual(['c']);
  expect((await find(q, { newerThanMs: 30_000 })).ids).toEqual(['a', 'b']);
});
