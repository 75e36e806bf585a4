import { expect, it } from '@jest/globals';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { seededBatch } from '../../support/queue/seeded-batch.js';
import { refTo } from '#queue/store/job-ref.js';

const end = (state: string, number: string) => [{ queue: 'home', batch: 'b', id: '1', number, state, detail: '' }];

it('ends a member in another queue once, also if calls arrive late', async () => {
  const q = await seededBatch('x');
  const { batches } = q.scripts;
  await q.run(batches.join({ id: 'b', members: [refTo('other', '1')] }));
  expect(await q.run(batches.deliver({ from: 'other', ends: end('cancelled', '7') }))).toMatchObject({
    changed: 1,
  });
  expect(await q.run(batches.status({ id: 'b' }))).toMatchObject({ total: 2, open: 1, cancelled: 1 });
  await expectUnchanged(q, async () => {
    expect(await q.run(batches.deliver({ from: 'other', ends: end('cancelled', '7') }))).toMatchObject({
      changed: 0,
    });
    expect(await q.run(batches.deliver({ from: 'other', ends: end('open', '6') }))).toMatchObject({ changed: 0 });
  });
});

it('takes the end of a member that has not joined yet, and opens a redriven one again', async () => {
  const q = await seededBatch();
  const { batches } = q.scripts;
  await q.run(batches.deliver({ from: 'other', ends: end('failed', '3') }));
  expect(await q.run(batches.status({ id: 'b' }))).toMatchObject({ total: 1, open: 0, failed: 1 });
  await q.run(batches.deliver({ from: 'other', ends: end('open', '4') }));
  expect(await q.run(batches.status({ id: 'b' }))).toMatchObject({ total: 1, open: 1, failed: 0 });
});

it('takes the later end of a redriven member whose report of the redrive it has replaced, once', async () => {
  const q = await seededBatch();
  const { batches } = q.scripts;
  await q.run(batches.deliver({ from: 'other', ends: end('failed', '3') }));
  expect(await q.run(batches.deliver({ from: 'other', ends: end('completed', '5') }))).toMatchObject({
    changed: 1,
  });
  const counted = { total: 1, open: 0, failed: 0, completed: 1 };
  expect(await q.run(batches.status({ id: 'b' }))).toMatchObject(counted);
  await expectUnchanged(q, async () => {
    for (const late of [end('failed', '3'), end('open', '4'), end('completed', '5')]) {
      expect(await q.run(batches.deliver({ from: 'other', ends: late }))).toMatchObject({ changed: 0 });
    }
  });
});

it('fires a sealed batch with its last end', async () => {
  const q = await seededBatch();
  const { batches } = q.scripts;
  await q.run(batches.join({ id: 'b', members: [refTo('other', '1')] }));
  await q.run(batches.seal({ id: 'b' }));
  await q.run(batches.deliver({ from: 'other', ends: end('completed', '3') }));
  expect(await q.run(batches.status({ id: 'b' }))).toMatchObject({ state: 'fired' });
});
