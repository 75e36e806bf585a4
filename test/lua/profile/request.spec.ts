// The life of a request for a profile. See docs/internals/profile.md.
import { expect, it } from '@jest/globals';
import { servedQueue, type TestQueue } from './served-queue.js';

const ASKED = { id: 'one', name: 'invoice', kind: 'cpu', forMs: 1_000 } as const;

async function request(q: TestQueue, asked: object = {}) {
  return q.run(q.scripts.profiles.request({ ...ASKED, ...asked }));
}

it('asks once, and repeats its answer', async () => {
  const q = await servedQueue('invoice');
  expect([await request(q), await request(q)]).toEqual(['asked', 'asked']);
  expect(await q.run(q.scripts.profiles.read())).toMatchObject({ ...ASKED, state: 'asked', bytes: 0 });
  expect(await q.redis.pttl(q.keys.profile)).toBeGreaterThan(590_000);
});

it.each(['asked', 'running'])('refuses another one while one is %s', async (state) => {
  const q = await servedQueue('invoice');
  await request(q);
  await q.redis.hset(q.keys.profile, 'state', state);
  expect(await request(q, { id: 'two' })).toBe('busy');
  expect(await q.redis.hget(q.keys.profile, 'id')).toBe('one');
});

it.each(['done', 'failed'])('replaces one that is %s', async (state) => {
  const q = await servedQueue('invoice');
  await request(q);
  await q.redis.hset(q.keys.profile, 'state', state, 'content', 'x');
  expect(await request(q, { id: 'two' })).toBe('asked');
  expect(await q.run(q.scripts.profiles.read())).toMatchObject({ id: 'two', state: 'asked', bytes: 0 });
});

it('writes nothing where no worker is live, or none handles the name', async () => {
  const q = await servedQueue('invoice');
  expect(await request(q, { name: 'other' })).toBe('unhandled');
  expect(await request(q, { name: '' })).toBe('asked');
  await q.redis.del(q.keys.profile);
  await q.redis.zincrby(q.keys.names, -40_000, 'invoice'); // of code that a deploy has dropped
  expect(await request(q)).toBe('unhandled');
  await q.redis.zadd(q.keys.workers, 1, 'worker');
  expect(await request(q)).toBe('unserved');
  expect(await q.redis.exists(q.keys.profile)).toBe(0);
});
