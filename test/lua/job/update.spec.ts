import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue } from '../../support/queue/queue-state.js';

it.each([{}, { delay_ms: 60_000 }, { priority: 3 }])('gives a job with %j another payload', async (options) => {
  const q = testQueue();
  await q.add('a', options);
  const before = await q.snapshot();
  const call = q.scripts.update({ id: 'a', payload: '{"n":2}' });
  expect(await q.run(call)).toBe('updated');
  expect(await q.field('a', 'payload')).toBe('{"n":2}');
  expect(Object.keys(await q.snapshot())).toEqual(Object.keys(before));
  expect(await expectUnchanged(q, () => q.run(call))).toBe('updated');
});

it('refuses a job that runs, and one of another name', async () => {
  const q = testQueue();
  await q.addAndClaim('a');
  await q.addAll('b');
  await expectUnchanged(q, async () => {
    expect(await q.run(q.scripts.update({ id: 'a', payload: '1' }))).toBe('refused');
    for (const name of ['other', q.name.slice(0, -1), q.name.slice(1)]) {
      expect(await q.run(q.scripts.update({ id: 'b', payload: '1', name }))).toBe('refused');
    }
    expect(await q.run(q.scripts.update({ id: 'none', payload: '1' }))).toBe('missing');
  });
});
