import { expect, it } from '@jest/globals';
import { DEFINITION } from '../../support/queue/seeded-batch.js';
import { examined } from './examined.js';

const WEEK = 7 * 86_400_000;

it('lists a batch again that no sweep looks at', async () => {
  const { q, doctor } = examined();
  await q.run(q.scripts.batches.create(DEFINITION));
  expect(await q.run(doctor.batches({ ids: ['b'], keepMs: WEEK, repair: false }))).toEqual([]);
  await q.redis.zrem(q.keys.batches, 'b');
  const [fault] = await q.run(doctor.batches({ ids: ['b'], keepMs: WEEK, repair: true }));
  expect(fault).toMatchObject({ subject: 'b', found: 'it has not ended, and no sweep looks at it' });
  expect(await q.ranked(q.keys.batches)).toEqual(['b']);
});

it('lets the rest of an ended batch expire', async () => {
  const { q, doctor } = examined();
  await q.run(q.scripts.batches.create({ ...DEFINITION, followUps: [] }));
  await q.run(q.scripts.batches.seal({ id: 'b' }));
  await q.redis.persist(q.keys.batchRecord('b'));
  await q.run(doctor.batches({ ids: ['b'], keepMs: WEEK, repair: true }));
  expect(await q.redis.pttl(q.keys.batchRecord('b'))).toBeGreaterThan(0);
});
