// Rules of limits and groups, which the scripts keep on Redis and in memory.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { newQueue, onEachStore } from '../support/worker/workers.js';

const HOUR = 3_600_000;
const payloads = async (queue: JobQueue, count = 9) => (await queue.claimMany(count)).map(({ payload }) => payload);
const fail = async (queue: JobQueue, final: boolean) => {
  const claim = (await queue.claim())!;
  await queue.fail(claim, new Error('no'), final ? { final } : { delayMs: HOUR });
  return claim;
};

onEachStore('limits and groups', () => {
  it('return when the rate lets the next job start, and until when the queue rests', async () => {
    const queue = newQueue();
    await queue.limits.set({ rateLimit: { limit: 60, periodMs: HOUR } });
    await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    expect(await queue.limits.get()).not.toHaveProperty('nextStartAt');
    const job = (await queue.claim())!;
    await queue.exec((calls) => calls.release([{ ...job, reason: 'rate_limited', delayMs: HOUR }]));
    const { nextStartAt, restsUntil } = await queue.limits.get();
    expect(nextStartAt!.getTime() - Date.now()).toBeGreaterThan(HOUR / 60 - 10_000);
    expect(restsUntil!.getTime() - Date.now()).toBeGreaterThan(HOUR - 10_000);
  });

  it('forget the spent rate with the last limits, and keep it while there is a rate', async () => {
    const hourly = { rateLimit: { limit: 1, periodMs: HOUR } };
    const queue = newQueue();
    await queue.limits.set(hourly);
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload })));
    expect(await payloads(queue)).toEqual([1]);
    await queue.limits.set({ ...hourly, maxRunning: 9 });
    expect(await payloads(queue)).toEqual([]);
    await queue.limits.clear();
    await queue.limits.set(hourly);
    expect(await payloads(queue)).toEqual([2]);
  });

  it('let only the first jobs of a resumed queue start at once, and then one a day', async () => {
    const queue = newQueue();
    await queue.pause();
    await queue.enqueueMany([1, 2, 3, 4].map((payload) => ({ payload })));
    await queue.resume({ first: 2 });
    expect(await payloads(queue)).toEqual([1, 2]);
    const { nextStartAt, rateLimit } = await queue.limits.get();
    expect(rateLimit).toEqual({ limit: 1, periodMs: 24 * HOUR, burst: 2 });
    expect(nextStartAt!.getTime() - Date.now()).toBeGreaterThan(24 * HOUR - 10_000);
    await queue.limits.clear();
    expect(await payloads(queue)).toEqual([3, 4]);
  });

  it('start no job whose cost the rate does not have yet, and none behind it', async () => {
    const queue = newQueue();
    await queue.limits.set({ rateLimit: { limit: 1, periodMs: HOUR, burst: 5 } });
    await queue.enqueue(1, { cost: 3 });
    await queue.enqueue(2, { cost: 3 });
    await queue.enqueue(3);
    expect(await payloads(queue)).toEqual([1]);
  });

  it('count a wait of free slots once, over all claims and workers, and keep the counter after a clear', async () => {
    const queue = newQueue();
    const limited = async () => (await queue.stats()).totals['limited'];
    await queue.limits.set({ groups: { rateLimit: { limit: 1, periodMs: HOUR } } });
    await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'g' })));
    for (let other = 3; other < 13; other++) {
      await queue.enqueue(other);
      const claim = { worker: `worker-${other % 3}`, stream: '0', count: 3, token: String(other) };
      await queue.exec((calls) => calls.claim(claim));
    }
    expect(await limited()).toBe(1);
    await queue.limits.clear();
    expect(await limited()).toBe(1);
  });

  it.each(['spent by the claim', 'spent before'])(
    'count no wait for a rate where only jobs of other names wait: %s',
    async (when) => {
      const queue = newQueue();
      const only = { limits: [{ name: 'a', maxAttempts: 3, maxCrashes: 3 }], cursor: 0 };
      const claim = (token: string) =>
        queue.exec((calls) => calls.claim({ worker: 'w', stream: '0', count: 3, token, only }));
      await queue.limits.set({ rateLimit: { limit: 1, periodMs: HOUR } });
      await queue.enqueueMany(['a', 'b', 'b'].map((name) => ({ payload: name, name })));
      const { jobs, nextDueInMs } = await claim('1');
      expect(jobs).toHaveLength(1);
      const again = when === 'spent before' ? await claim('2') : undefined;
      expect((await queue.stats()).totals).not.toHaveProperty('limited');
      expect([nextDueInMs, again?.nextDueInMs]).toEqual([undefined, undefined]);
      await queue.enqueue(1, { name: 'a' });
      expect((await claim('3')).nextDueInMs).toBeGreaterThan(HOUR - 10_000);
      expect((await queue.stats()).totals).toMatchObject({ limited: 1 });
    },
  );

  it('count no wait for a rate where no slot is free', async () => {
    const queue = newQueue();
    await queue.limits.set({ maxRunning: 1, rateLimit: { limit: 1, periodMs: HOUR } });
    await queue.enqueueMany([1, 2].map((payload) => ({ payload })));
    expect(await payloads(queue, 1)).toEqual([1]);
    expect(await payloads(queue)).toEqual([]);
    expect((await queue.stats()).totals).not.toHaveProperty('limited');
  });

  it('count no wait for a rate where the group has no free slot, or the claim has taken the last one', async () => {
    const hourly = { rateLimit: { limit: 1, periodMs: HOUR } };
    const [ofGroup, ofQueue] = [newQueue(), newQueue()];
    await ofGroup.limits.set({ groups: { maxRunning: 1, ...hourly } });
    await ofGroup.enqueueMany([1, 2].map((payload) => ({ payload, group: 'g' })));
    await ofQueue.limits.set({ maxRunning: 1, ...hourly });
    await ofQueue.enqueueMany([1, 2].map((payload) => ({ payload })));
    for (const queue of [ofGroup, ofQueue]) {
      expect(await payloads(queue)).toEqual([1]);
      expect(await payloads(queue)).toEqual([]);
      expect((await queue.stats()).totals).not.toHaveProperty('limited');
    }
  });

  it('check the cost against the rate of a group, and another group continues', async () => {
    const queue = newQueue({ groups: {} });
    await queue.groups.set('g', { rateLimit: { limit: 1, periodMs: HOUR, burst: 5 } });
    await queue.enqueue(1, { group: 'g', cost: 3 });
    await queue.enqueue(2, { group: 'g', cost: 3 });
    await queue.enqueue(3, { group: 'h' });
    expect(new Set(await payloads(queue))).toEqual(new Set([1, 3]));
  });

  it('show a rate without a burst with one job, of a queue, of all groups and of one', async () => {
    const queue = newQueue({
      rateLimit: { limit: 1, periodMs: HOUR },
      groups: { overrides: { g: { weight: 2 } } },
    });
    const rateLimit = { limit: 2, periodMs: HOUR };
    const shown = { ...rateLimit, burst: 1 };
    await queue.exec((calls) => calls.workers.register({ worker: 'w', serves: true, handlers: [] }));
    const configured = { rateLimit: { ...shown, limit: 1 } };
    expect(await queue.limits.get()).toEqual({ source: 'configuration', ...configured });
    await queue.limits.set({ rateLimit, groups: { rateLimit } });
    await queue.groups.set('g', { rateLimit });
    const set = { source: 'set', configured, rateLimit: shown, groups: { rateLimit: shown } };
    expect(await queue.limits.get()).toEqual(set);
    expect((await queue.groups.get('g')).limits).toEqual({ rateLimit: shown });
  });

  it('keep the later of two rests of a group', async () => {
    const queue = newQueue();
    await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'g' })));
    const [a, b] = await queue.claimMany(2);
    const rest = (job: typeof a, delayMs: number) =>
      queue.exec((calls) => calls.release([{ ...job!, reason: 'rate_limited', delayMs }]));
    await rest(a, HOUR);
    await rest(b, 1_000);
    expect((await queue.groups.get('g')).opensAt!.getTime() - Date.now()).toBeGreaterThan(HOUR / 2);
  });

  it('hold a group as long as its head waits and the settings say so', async () => {
    const queue = newQueue();
    await queue.limits.set({ groups: { maxRunning: 1, onDeadHead: 'hold' } });
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload, group: 'g', maxAttempts: 2 })));
    const { id } = await fail(queue, true);
    expect((await queue.groups.get('g')).heldBy).toBe(id);
    expect(await payloads(queue)).toEqual([]);
    await queue.groups.set('g', { onDeadHead: 'skip' });
    expect((await queue.groups.get('g')).heldBy).toBeNull();
    expect(await payloads(queue)).toEqual([2]);
  });

  it('hold no group for a job that failed while its group ran two', async () => {
    const queue = newQueue();
    await queue.limits.set({ groups: { maxRunning: 2 } });
    await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'g', maxAttempts: 2 })));
    await fail(queue, false);
    await queue.limits.set({ groups: { maxRunning: 1 } });
    expect(await payloads(queue)).toEqual([2]);
  });

  it('end the rest and the hold of a group with its clear', async () => {
    const queue = newQueue();
    await queue.limits.set({ groups: { maxRunning: 1 } });
    await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'g', maxAttempts: 2 })));
    await fail(queue, false);
    expect(await payloads(queue)).toEqual([]);
    await queue.groups.clear('g');
    const [second] = await queue.claimMany(1);
    expect(second!.payload).toBe(2);
    await queue.exec((calls) => calls.release([{ ...second!, reason: 'rate_limited', delayMs: HOUR }]));
    expect(await payloads(queue)).toEqual([]);
    await queue.groups.clear('g');
    expect(await payloads(queue)).toEqual([2]);
  });

  it('count in stats the jobs that groups hold back', async () => {
    const queue = newQueue();
    await queue.groups.pause('g');
    await queue.enqueueMany([1, 2].map((payload) => ({ payload, group: 'g' })));
    expect(await queue.stats()).toMatchObject({ pending: 2, heldByGroups: 2 });
  });

  it('give nothing back where the rate was changed after the claim, since that took another amount', async () => {
    const many = { rateLimit: { limit: 3_600, periodMs: HOUR } };
    const one = { rateLimit: { limit: 1, periodMs: HOUR, burst: 2 } };
    for (const change of ['queue', 'groups', 'group'] as const) {
      const queue = newQueue();
      await queue.limits.set(change === 'queue' ? many : { groups: many });
      await queue.enqueue(1, { group: 'g' });
      const job = (await queue.claim())!;
      await (change === 'group'
        ? queue.groups.set('g', one)
        : queue.limits.set(change === 'queue' ? one : { groups: one }));
      const rest = { ...job, reason: 'interruption', delayMs: 0, unstarted: true } as const;
      await queue.exec((calls) => calls.release([rest]));
      await queue.enqueueMany([2, 3, 4].map((payload) => ({ payload, group: 'g' })));
      expect([change, (await queue.claimMany(9)).length]).toEqual([change, 1]);
    }
  });
});
