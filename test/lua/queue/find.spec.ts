import { expect, it } from '@jest/globals';
import type { JobQuery } from '#queue/store/find-query.js';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const ALL = { place: 0, looks: 10, skip: 0, most: 10 };

async function find(q: TestQueue, query: Partial<JobQuery> = {}) {
  const { jobs, passed, next } = await q.run(q.scripts.find('pending', { ...ALL, ...query }));
  return { ids: jobs.map(({ id }) => id), passed, next };
}

it('reads a slice, and says where the next begins', async () => {
  const q = testQueue();
  await q.addAll('a', 'b', 'c');
  expect(await find(q, { looks: 2 })).toEqual({ ids: ['a', 'b'], passed: 0, next: 2 });
  expect(await find(q, { looks: 2, place: 2 })).toEqual({ ids: ['c'], passed: 0, next: undefined });
  expect(await find(q, { skip: 1, most: 1 })).toEqual({ ids: ['b'], passed: 1, next: 2 });
});

it('matches by name, age and metadata', async () => {
  const q = testQueue();
  await q.addAll('a', 'b', 'c');
  await q.redis.hset(q.keys.job('a'), 'options', '{"metadata":{"tenant":"acme"}}');
  await q.redis.hset(q.keys.job('b'), 'options', '{"metadata":{"tenant":"other"}}');
  await q.redis.hset(q.keys.job('c'), { name: 'email', ready_at_ms: (await q.now()) - 60_000 });
  expect((await find(q, { metadata: { tenant: 'acme' } })).ids).toEqual(['a']);
  expect((await find(q, { name: 'email' })).ids).toEqual(['c']);
  expect((await find(q, { olderThanMs: 30_000 })).ids).toEqual(['c']);
  expect((await find(q, { newerThanMs: 30_000 })).ids).toEqual(['a', 'b']);
});

it('skips a job whose hash is gone or broken', async () => {
  const q = testQueue();
  await q.addAll('a', 'b', 'c');
  await q.redis.del(q.keys.job('a'), q.keys.job('b'));
  await q.redis.set(q.keys.job('b'), 'no hash');
  q.broken = true;
  expect((await find(q, { name: q.name })).ids).toEqual(['c']);
});
