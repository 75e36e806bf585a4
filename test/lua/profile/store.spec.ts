import { expect, it } from '@jest/globals';
import { asked, servedQueue } from './served-queue.js';

async function taken() {
  const q = await servedQueue('invoice');
  const of = { id: await asked(q), worker: 'a' };
  await q.run(q.scripts.profiles.take({ ...of, job: '7', attempt: 1, mostMs: 5_000 }));
  return { q, of, ...q.scripts.profiles };
}

it('keeps the profile for an hour, and the first one only', async () => {
  const { q, of, store, download } = await taken();
  expect(await q.run(store({ ...of, content: 'abc' }))).toBe(true);
  expect(await q.run(store({ ...of, content: 'late' }))).toBe(true);
  expect(await q.run(download())).toMatchObject({ record: { state: 'done', bytes: 3 }, content: 'abc' });
  expect(await q.redis.pttl(q.keys.profile)).toBeGreaterThan(3_500_000);
});

it('keeps the reason why there is none', async () => {
  const { q, of, store, read } = await taken();
  await q.run(store({ ...of, reason: 'no inspector' }));
  expect(await q.run(read())).toMatchObject({ state: 'failed', reason: 'no inspector', bytes: 0 });
});

it('writes nothing of another worker or request, and nothing once the request is over', async () => {
  const { q, of, store } = await taken();
  expect(await q.run(store({ ...of, worker: 'b', content: 'abc' }))).toBe(false);
  expect(await q.run(store({ ...of, id: 'two', content: 'abc' }))).toBe(false);
  await q.redis.del(q.keys.profile);
  expect(await q.run(store({ ...of, content: 'abc' }))).toBe(false);
  expect(await q.redis.exists(q.keys.profile)).toBe(0);
});
