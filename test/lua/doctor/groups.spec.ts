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
