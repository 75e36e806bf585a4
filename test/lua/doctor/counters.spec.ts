import { expect, it } from '@jest/globals';
import { examined } from './examined.js';

it('sets a counter that is too low or no number to the counted jobs', async () => {
  const { q, doctor } = examined();
  await q.addAll('a', 'b');
  expect(await q.run(doctor.counters({ repair: false, exclusive: true }))).toEqual([]);
  await q.redis.hset(q.keys.stats, 'enqueued_total', 'x');
  expect(await q.run(doctor.counters({ repair: true, exclusive: false }))).toMatchObject([
    { subject: 'enqueued_total', found: 'x' },
  ]);
  expect(await q.total('enqueued')).toBe(2);
});

it('finds a wrong count of the jobs that wait in groups, and counts them again', async () => {
  const { q, doctor } = examined();
  await q.add('a', { group: 'g' });
  await q.add('b', { group: 'h' });
  expect(await q.run(doctor.counters({ repair: false, exclusive: false }))).toEqual([]);
  await q.redis.hset(`${q.keys.groupsPrefix}settings`, 'waiting', 5);
  const fault = { subject: 'waiting of groups:settings', found: '5', expected: '2, the jobs that wait in groups' };
  expect(await q.run(doctor.counters({ repair: false, exclusive: false }))).toMatchObject([fault]);
  expect(await q.run(doctor.counters({ repair: true, exclusive: false }))).toMatchObject([fault]);
  expect(await q.run(doctor.counters({ repair: false, exclusive: false }))).toEqual([]);
});

it('reports counters that contradict each other, and leaves them', async () => {
  const { q, doctor } = examined();
  await q.addAll('a');
  await q.redis.hset(q.keys.stats, 'enqueued_total', 5);
  q.broken = true;
  const [fault] = await q.run(doctor.counters({ repair: true, exclusive: true }));
  expect(fault).toMatchObject({ kind: 'counter', repaired: false });
  expect(await q.total('enqueued')).toBe(5);
});
