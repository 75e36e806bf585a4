import { expect, it } from '@jest/globals';
import { examined } from './examined.js';

it('frees the unique keys of jobs that are gone, and no other', async () => {
  const { q, doctor } = examined();
  await q.add('waits', { unique: 'held' });
  await q.redis.hset(q.keys.unique, 'stuck', 'nobody');
  const faults = await q.run(doctor.unique({ uniqueKeys: ['held', 'stuck', 'unknown'], repair: false }));
  expect(faults).toMatchObject([{ subject: 'stuck', found: 'held by nobody, which does not exist' }]);
  await q.run(doctor.unique({ uniqueKeys: ['held', 'stuck'], repair: true }));
  expect(await q.redis.hgetall(q.keys.unique)).toEqual({ held: 'waits' });
});

it('bounds the time of a key by the window of its owner only if the window is of that very key', async () => {
  const { q, doctor } = examined();
  await q.addAll('owner');
  await q.redis.hset(q.keys.job('owner'), { window: 'order:12', window_ms: 1e12 });
  const held = (await q.now()) + 1e11;
  const uniqueKeys = ['order:12', 'order', '12'];
  for (const key of uniqueKeys) {
    await q.redis.hset(q.keys.unique, key, 'owner');
    await q.redis.zadd(q.keys.uniqueExpiries, held, key);
  }
  await q.redis.hset(q.keys.sweep, 'longest_window_ms', 60_000);
  const faults = await q.run(doctor.unique({ uniqueKeys, repair: true }));
  expect(faults.map(({ subject }) => subject.split(' ')[1])).toEqual(['order', '12']);
  expect(await q.redis.hkeys(q.keys.unique)).toEqual(['order:12']);
});

it.each(['completed', 'failed', 'cancelled'])('frees the key of a job that is %s', async (status) => {
  const { q, doctor } = examined();
  q.broken = true;
  await q.redis.hset(q.keys.job('owner'), { status });
  await q.redis.hset(q.keys.unique, 'stuck', 'owner');
  const faults = await q.run(doctor.unique({ uniqueKeys: ['stuck'], repair: true }));
  expect(faults).toMatchObject([{ subject: 'stuck', found: `held by owner, which is ${status}` }]);
  expect(await q.redis.exists(q.keys.unique)).toBe(0);
});
