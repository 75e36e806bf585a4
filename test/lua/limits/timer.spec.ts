// A group that its rate or a rest holds back. A worker keeps the time until it may start.
import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { queueOn, testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const HOUR = 3_600_000;

const isWoken = async (q: TestQueue) => (await q.redis.del(q.keys.wake)) === 1;
const waitOf = async (q: TestQueue, worker: string) => (await q.run(q.claimCall(5, { worker }))).nextDueInMs;
const rest = (q: TestQueue, job: ClaimedJob, delayMs = HOUR) =>
  q.run(q.scripts.release([{ ...job, reason: 'rate_limited', delayMs }]));

/** Claims a job of the group `g`, and removes the marker, so that every worker waits. */
async function claimed(q: TestQueue): Promise<ClaimedJob> {
  await q.add('a', { group: 'g' });
  const [job] = await q.claim(1);
  await q.redis.del(q.keys.wake);
  return job!;
}

describe('a group that may start later', () => {
  it('wakes a worker where a RateLimitedError rests it, and no other while that one keeps the time', async () => {
    const q = testQueue();
    await rest(q, await claimed(q));
    expect(await isWoken(q)).toBe(true);
    expect(await waitOf(q, 'worker-1')).toBeGreaterThan(HOUR - 10_000);
    await q.add('b', { group: 'g' });
    expect(await isWoken(q)).toBe(false);
  });

  it('wakes a worker where a job comes into it behind its rate', async () => {
    const q = testQueue();
    await q.run(q.scripts.groups.set({ name: 'g', limits: { rateLimit: { limit: 1, periodMs: HOUR } } }));
    const job = await claimed(q);
    await q.complete(job);
    await q.redis.del(q.keys.wake);
    await q.add('b', { group: 'g' });
    expect(await isWoken(q)).toBe(true);
  });

  it('wakes a worker where it opens before the time that another worker keeps', async () => {
    const q = testQueue();
    await rest(q, await claimed(q));
    await waitOf(q, 'worker-1');
    await q.run(q.scripts.groups.set({ name: 'h', limits: { rateLimit: { limit: 60, periodMs: HOUR } } }));
    await q.add('c', { group: 'h' });
    const [job] = await q.claim(1);
    await q.redis.del(q.keys.wake);
    await q.complete(job!);
    await q.add('d', { group: 'h' });
    expect(await isWoken(q)).toBe(true);
  });
});

it.each(['g', undefined])(
  'the time that a worker keeps is kept by the next one once it is over (group %s)',
  async (group) => {
    const clock = { nowMs: Date.now() };
    const q = queueOn(connectClocked(clock));
    await q.add('a', group === undefined ? {} : { group });
    const [first] = await q.claim(1);
    await rest(q, first!, 20);
    expect(await waitOf(q, 'worker-1')).toBe(20);
    clock.nowMs += 21;
    const [again] = await q.claim(1, { worker: 'worker-2' }); // before worker-1, whose wait is over
    await rest(q, again!);
    expect(await waitOf(q, 'worker-3')).toBeGreaterThan(HOUR - 10_000);
  },
);
