import { expect, it } from '@jest/globals';
import { examined } from './examined.js';

it('finds a slot without a claim, and frees it', async () => {
  const { q, doctor } = examined();
  await q.add('a', { group: 'g' });
  expect(await q.run(doctor.groups(['g'], false))).toEqual([]);
  const running = `${q.keys.groupsPrefix}running:g`;
  await q.redis.zadd(running, 1, 'gone');
  const [fault] = await q.run(doctor.groups(['g'], true));
  expect(fault).toMatchObject({ subject: 'g', found: '1 slots without a claim' });
  expect(await q.redis.exists(running)).toBe(0);
  expect(await q.run(doctor.groups(['g'], true))).toEqual([]);
});

it('lets claims find the state of a group again, where the hash that names it lost it', async () => {
  const { q, doctor } = examined();
  await q.add('a', { group: 'g' });
  await q.run(q.scripts.groups.pause('g', {}));
  const states = `${q.keys.groupsPrefix}states`;
  await q.redis.hdel(states, 'g');
  await q.run(doctor.groups(['g'], true));
  expect(await q.redis.hkeys(states)).toEqual(['g']);
  expect(await q.claim(1)).toEqual([]);
});
