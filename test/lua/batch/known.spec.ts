import { expect, it } from '@jest/globals';
import { refTo } from '#queue/store/job-ref.js';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { seededBatch } from '../../support/queue/seeded-batch.js';

it('knows open members and ended ones, says who may join, and changes nothing', async () => {
  const q = await seededBatch();
  const { batches } = q.scripts;
  const [open, ended, stranger] = ['x', 'y', 'z'].map((id) => refTo('other', id)) as [string, string, string];
  await q.run(batches.join({ id: 'b', members: [open, ended] }));
  await q.run(
    batches.deliver({
      from: 'other',
      ends: [{ queue: q.name, batch: 'b', id: 'y', number: '1', state: 'completed', detail: '' }],
    }),
  );
  await expectUnchanged(q, async () => {
    expect(await q.run(batches.known({ id: 'b', members: [open, stranger, ended] }))).toEqual([
      'known',
      'new',
      'known',
    ]);
    expect(await q.run(batches.known({ id: 'none', members: [open] }))).toEqual(['no-batch']);
    const lost = { member: 'm', token: 't' };
    expect(await q.run(batches.known({ id: 'b', members: [open, stranger], adder: lost }))).toEqual([
      'known',
      'lost',
    ]);
  });
  await q.run(batches.seal({ id: 'b' }));
  await expectUnchanged(q, async () => {
    expect(await q.run(batches.known({ id: 'b', members: [open, stranger, ended] }))).toEqual([
      'known',
      'sealed',
      'known',
    ]);
    const adder = { member: open, token: '' };
    expect(await q.run(batches.known({ id: 'b', members: [stranger], adder }))).toEqual(['new']);
  });
});
