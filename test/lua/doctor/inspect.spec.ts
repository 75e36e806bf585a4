import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { examined } from './examined.js';

it('finds a job that is in no place, and puts it back where it is asked to', async () => {
  const { q, doctor } = examined();
  await q.addAll('sound', 'lost');
  await q.redis.lrem(q.keys.pending, 1, 'lost');
  const found = await expectUnchanged(q, () => q.run(doctor.inspect(['sound', 'lost'], false)));
  expect(found).toMatchObject({ judged: 2, faults: [{ subject: 'lost', kind: 'orphan' }] });
  await q.run(doctor.inspect(['lost'], true));
  expect((await q.pending()).toSorted()).toEqual(['lost', 'sound']);
  expect(await q.run(doctor.inspect(['sound', 'lost'], true))).toEqual({ judged: 2, faults: [] });
});
