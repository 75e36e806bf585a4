import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { seededRemoteMembers } from '../../support/queue/seeded-batch.js';

it('cancels members of a batch in another queue: waiting ones at once, running ones by a request', async () => {
  const q = await seededRemoteMembers('x', 'y');
  const [x] = await q.claim(1);
  await q.run(q.scripts.batches.cancel({ ids: ['x', 'y'] }));
  expect(await q.status('y')).toBe('cancelled');
  expect(await q.status(x!.id)).toBe('processing');
  expect(await q.field(x!.id, 'cancel_requested_at_ms')).not.toBeNull();
});

it('leaves a job alone that is a member no more', async () => {
  const q = await seededRemoteMembers('x');
  await q.add('other');
  await expectUnchanged(q, () => q.run(q.scripts.batches.cancel({ ids: ['other', 'none'] })));
});
