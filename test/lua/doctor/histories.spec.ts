import { expect, it } from '@jest/globals';
import { examined } from './examined.js';

/** Makes a queue in which jobs with these ids have completed, in this order. */
async function withCompleted(...ids: string[]) {
  const at = examined();
  at.q.broken = true; // an id is in the history twice
  for (const id of ids) await complete(at, id);
  return at;
}

async function complete({ q }: ReturnType<typeof examined>, id: string): Promise<void> {
  const job = await q.addAndClaim(id);
  await q.run(q.scripts.complete([{ ...job, result: '' }]));
}

it('keeps the newest place of a completed job that is in its history twice', async () => {
  const { q, doctor } = await withCompleted('a', 'b', 'c');
  await q.redis.hset(q.keys.job('a'), 'enqueued_at_ms', 1); // before all others ended
  await q.redis.rpush(q.keys.completed, 'a');
  await q.redis.lpush(q.keys.completed, 'c');
  const fault = { kind: 'double', found: '2 times in completed', expected: 'once' };
  expect(await q.run(doctor.histories({ state: 'completed', ids: ['a', 'b', 'c'], repair: false }))).toEqual({
    judged: 3,
    faults: [
      { ...fault, subject: 'a' },
      { ...fault, subject: 'c' },
    ],
  });
  expect(
    (await q.run(doctor.histories({ state: 'completed', ids: ['a', 'b', 'c'], repair: true }))).faults,
  ).toHaveLength(2);
  expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['c', 'b', 'a']);
});

it('leaves the old place of an id whose hash was gone when it was used again', async () => {
  const at = await withCompleted('a', 'b');
  const { q, doctor } = at;
  await q.redis.del(q.keys.job('a'));
  await complete(at, 'a');
  await q.redis.hset(q.keys.job('b'), 'completed_at_ms', 1); // before the enqueue of a, also in the same ms
  expect((await q.run(doctor.histories({ state: 'completed', ids: ['a'], repair: true }))).faults).toEqual([]);
  expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['a', 'b', 'a']);
});

it('leaves the old place of an id that is in use again', async () => {
  const { q, doctor } = await withCompleted('a');
  await q.redis.lpush(q.keys.completed, 'a');
  await q.redis.del(q.keys.job('a'));
  await q.add('a');
  expect((await q.run(doctor.histories({ state: 'completed', ids: ['a'], repair: true }))).faults).toEqual([]);
});
