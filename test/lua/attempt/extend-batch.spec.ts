import { expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, queueWith } from '../../support/queue/queue-state.js';

const CLAIMER = { worker: 'worker-1', stream: '0' };

it('extends each claim of the batch, and the memory of it', async () => {
  const q = testQueue({ visibilityMs: 60_000 });
  await q.addAll('a', 'b');
  await q.claim(2, { token: 't' });
  await q.expireClaims('a', 'b');
  await q.redis.pexpire(q.keys.batch('worker-1:0'), 10_000);
  const now = await q.now();
  expect(await q.run(q.scripts.extendBatch({ ...CLAIMER, token: 't' }))).toBe(2);
  for (const id of ['a', 'b']) {
    expect(Number(await q.redis.zscore(q.keys.claims, id))).toBeGreaterThanOrEqual(now + 60_000);
  }
  expect(await q.redis.pttl(q.keys.batch('worker-1:0'))).toBeGreaterThan(50_000);
  expect(await q.claim(2, { token: 't' })).toHaveLength(2); // still repeated
});

it('leaves a claim that ended', async () => {
  const q = await queueWith('a', 'b');
  const [first] = await q.claim(2, { token: 't' });
  await q.complete(first!);
  expect(await q.run(q.scripts.extendBatch({ ...CLAIMER, token: 't' }))).toBe(1);
  expect(await q.ranked(q.keys.claims)).toEqual(['b']);
});

it('changes nothing where the claim was not made, or another one followed', async () => {
  const q = await queueWith('a');
  await q.claim(1, { token: 'newer' });
  for (const token of ['older', 'new']) {
    const extended = await expectUnchanged(q, () => q.run(q.scripts.extendBatch({ ...CLAIMER, token })));
    expect(extended).toBe(0);
  }
});
