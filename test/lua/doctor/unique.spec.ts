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
