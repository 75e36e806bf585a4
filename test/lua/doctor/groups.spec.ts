import { expect, it } from '@jest/globals';
import { examined } from './examined.js';

it('finds a slot without a claim, and frees it', async () => {
  const { q, doctor } = examined();
  await q.add('a', { group: 'g' });
  expect(await q.run(doctor.groups({ names: ['g'], repair: false }))).toEqual([]);
  const running = `${q.keys.groupsPrefix}running:g`;
  await q.redis.zadd(running, 1, 'gone');
  const [fault] = await q.run(doctor.groups({ names: ['g'], repair: true }));
  expect(fault).toMatchObject({ subject: 'g', found: '1 slots without a claim' });
  expect(await q.redis.exists(running)).toBe(0);
  expect(await q.run(doctor.groups({ names: ['g'], repair: true }))).toEqual([]);
});

it('lets claims find the state of a group again, where the hash that names it lost it', async () => {
  const { q, doctor } = examined();
  await q.add('a', { group: 'g' });
  await q.run(q.scripts.groups.pause({ name: 'g' }));
  const states = `${q.keys.groupsPrefix}states`;
  await q.redis.hdel(states, 'g');
  await q.run(doctor.groups({ names: ['g'], repair: true }));
  expect(await q.redis.hkeys(states)).toEqual(['g']);
  expect(await q.claim(1)).toEqual([]);
});

it('ends the hold of a group by a job that cannot end it, and lets its next job start', async () => {
  const { q, doctor } = examined();
  await q.add('a', { group: 'g' });
  await q.run(q.scripts.limits.set({ groups: { maxRunning: 1, onDeadHead: 'hold' } }));
  await q.redis.hset(`${q.keys.groupsPrefix}state:g`, 'hold', 'gone');
  await q.redis.hset(`${q.keys.groupsPrefix}states`, 'g', '1');
  const fault = { subject: 'g', found: 'held by gone' };
  expect(await q.run(doctor.groups({ names: ['g'], repair: true }))).toMatchObject([fault]);
  expect(await q.run(doctor.groups({ names: ['g'], repair: true }))).toEqual([]);
  expect(await q.redis.hget(`${q.keys.groupsPrefix}state:g`, 'hold')).toBeNull();
  expect(await q.claim(1)).toMatchObject([{ id: 'a' }]);
});
