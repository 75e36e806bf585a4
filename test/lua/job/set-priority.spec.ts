import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith } from '../../support/queue/queue-state.js';

it('moves a plain job before the others, as old as it was, and back again', async () => {
  const q = await queueWith('a', 'b');
  const call = q.scripts.setPriority({ id: 'b', priority: 5 });
  expect(await q.run(call)).toBe('updated');
  expect(await q.ranked(q.keys.prioritized)).toEqual(['b']);
  expect(await q.pending()).toEqual(['a']);
  expect(await q.job('b')).not.toHaveProperty('ready_at_ms');
  expect(await expectUnchanged(q, () => q.run(call))).toBe('updated');
  expect(await q.run(q.scripts.setPriority({ id: 'b', priority: 0 }))).toBe('updated');
  expect(await q.pending()).toEqual(['a', 'b']);
  expect(await q.job('b')).not.toHaveProperty('priority');
});

it('leaves a job its place while the other line has another type', async () => {
  const q = testQueue();
  await q.add('a', { priority: 5 });
  await q.redis.set(q.keys.pending, 'text');
  await expect(q.run(q.scripts.setPriority({ id: 'a', priority: 0 }))).rejects.toThrow('WRONGTYPE');
  await q.redis.del(q.keys.pending);
  expect(await q.ranked(q.keys.prioritized)).toEqual(['a']);
  expect(await q.job('a')).toMatchObject({ priority: '5' });
});

it('leaves a scheduled job its time', async () => {
  const q = testQueue();
  await q.add('a', { delay_ms: 60_000 });
  await q.run(q.scripts.setPriority({ id: 'a', priority: 5 }));
  expect(await q.job('a')).toMatchObject({ status: 'scheduled', priority: '5' });
  await q.makeDue('a');
  await q.run(q.scripts.sweep.promote({ limit: 10 }));
  expect(await q.ranked(q.keys.prioritized)).toEqual(['a']);
});

it('refuses a job that runs', async () => {
  const q = testQueue();
  await q.addAndClaim('a');
  expect(await expectUnchanged(q, () => q.run(q.scripts.setPriority({ id: 'a', priority: 5 })))).toBe('refused');
  expect(await q.run(q.scripts.setPriority({ id: 'none', priority: 5 }))).toBe('missing');
});

it('refuses a job that a client of the pattern has just taken', async () => {
  const q = testQueue();
  await q.addAll('a');
  q.broken = true; // that client has not written its claim yet
  await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.setPriority({ id: 'a', priority: 5 }))).toBe('refused');
  });
});
