import { expect, it } from '@jest/globals';
import { asked, servedQueue } from './served-queue.js';

it('gives the request to the first attempt only, also if that repeats the call', async () => {
  const q = await servedQueue('invoice');
  const first = { id: await asked(q), worker: 'a', job: '7', attempt: 1, mostMs: 5_000 };
  const { take, read } = q.scripts.profiles;
  expect([await q.run(take(first)), await q.run(take(first))]).toEqual([true, true]);
  for (const other of [{ worker: 'b' }, { job: '8' }, { attempt: 2 }]) {
    expect(await q.run(take({ ...first, ...other }))).toBe(false);
  }
  expect(await q.run(read())).toMatchObject({ state: 'running', worker: 'a', jobId: '7', attempt: 1 });
  expect(await q.redis.pttl(q.keys.profile)).toBeLessThanOrEqual(5_000);
});

it('gives nothing of another request, or of one that is over', async () => {
  const q = await servedQueue('invoice');
  const attempt = { worker: 'a', job: '7', attempt: 1, mostMs: 5_000 };
  const { take } = q.scripts.profiles;
  expect(await q.run(take({ ...attempt, id: 'one' }))).toBe(false);
  await asked(q);
  expect(await q.run(take({ ...attempt, id: 'two' }))).toBe(false);
  await q.redis.hset(q.keys.profile, 'state', 'done');
  expect(await q.run(take({ ...attempt, id: 'one' }))).toBe(false);
});
