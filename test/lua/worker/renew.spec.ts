import { describe, expect, it } from '@jest/globals';
import { RedisStore } from '#queue/redis-store.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { TestQueue, testQueue } from '../../support/queue/queue-state.js';

const HANDLERS = ['mail', 'fax'].map((name) => ({ name, maxAttempts: 5, maxCrashes: 3 }));

async function renew(
  queues: readonly TestQueue[],
  { checks = true, worker = 'w1', handlers = HANDLERS } = {},
): Promise<boolean[]> {
  const all = queues.map(({ scripts: calls }) => ({ calls, handlers }));
  const { queues: verbs } = RedisStore.of(queues[0]!.redis);
  const outcomes = await verbs.renew(all, { worker, checks }, { timeoutMs: 5_000 });
  return outcomes.map((outcome) => outcome.ok && outcome.reply.isKnown);
}

/** Returns a queue to which w1 announced itself a minute ago. */
async function announced(options: QueueOptions = {}): Promise<TestQueue> {
  const q = testQueue(options);
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers: HANDLERS }));
  await q.run(q.scripts.workers.describe({ worker: 'w1', details: { host: 'h', pid: 1, slots: 1 }, ageMs: 0 }));
  const longAgo = (await q.now()) - 60_000;
  await q.redis.zadd(q.keys.workers, longAgo, 'w1');
  await q.redis.zadd(q.keys.names, longAgo, 'mail', longAgo, 'fax');
  return q;
}

describe('worker/renew.lua', () => {
  it('renews the worker and the names of its handlers in each queue', async () => {
    const queues = [await announced(), await announced()];
    const before = await queues[0]!.now();
    expect(await renew(queues)).toEqual([true, true]);
    for (const q of queues) {
      expect((await q.run(q.scripts.stats())).workers).toBe(1);
      for (const [key, member] of [
        [q.keys.workers, 'w1'],
        [q.keys.names, 'mail'],
        [q.keys.names, 'fax'],
      ] as const) {
        expect(Number(await q.redis.zscore(key, member))).toBeGreaterThanOrEqual(before);
      }
    }
  });

  it('renews the names of the handlers also without checks', async () => {
    const q = await announced();
    const before = await q.now();
    expect(await renew([q], { checks: false })).toEqual([true]);
    expect(Number(await q.redis.zscore(q.keys.names, 'fax'))).toBeGreaterThanOrEqual(before);
    expect(await q.redis.zcard(q.keys.names)).toBe(2);
  });

  it('asks for a registration where the worker is not known, and writes nothing there', async () => {
    const [known, lost] = [await announced(), testQueue()];
    expect(await renew([known, lost], { checks: false })).toEqual([true, false]);
    expect(await lost.redis.exists(lost.keys.workers, lost.keys.names)).toBe(0);
    expect(await renew([known], { worker: 'other' })).toEqual([false]);
  });

  it('asks for one where a purge lets the announcement expire', async () => {
    const q = await announced();
    await renew([q]);
    await q.run(q.scripts.purge({ limit: 100 }));
    expect(await q.redis.pttl(q.keys.retention)).toBeGreaterThan(0);
    expect(await renew([q], { checks: false })).toEqual([true]);
    expect(await renew([q])).toEqual([false]);
    await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers: HANDLERS }));
    expect(await q.redis.pttl(q.keys.retention)).toBe(-1);
    expect(await renew([q])).toEqual([true]);
  });

  it.each([true, false])('renews a worker that has no handler in a queue, with checks: %s', async (checks) => {
    const q = await announced();
    const before = await q.redis.zrange(q.keys.names, '0', '-1', 'WITHSCORES');
    expect(await renew([q], { checks, handlers: [] })).toEqual([true]);
    expect(await q.redis.zrange(q.keys.names, '0', '-1', 'WITHSCORES')).toEqual(before);
  });

  it('asks for one where the layout is another, or the details are gone', async () => {
    const [newer, gone] = [await announced(), await announced()];
    await newer.redis.hset(newer.keys.sweep, 'layout', '99');
    await gone.redis.del(gone.keys.workerDetails);
    expect(await renew([newer, gone])).toEqual([false, false]);
  });

  it('asks for one where another worker has announced other limits', async () => {
    const [queue, handler] = [await announced(), await announced()];
    await queue.redis.hset(queue.keys.retention, '', 'visibility=1000');
    await handler.redis.hset(handler.keys.handlerLimits, 'fax', '1:1');
    expect(await renew([queue, handler])).toEqual([false, false]);
  });

  it.each(['stopped', 'is silent'])(
    'asks for one where the worker that configured the limits in force %s',
    async (how) => {
      const q = await announced();
      const old = new TestQueue(q.redis, { maxRunning: 1 }, q.name);
      await old.run(old.scripts.workers.register({ worker: 'old', serves: true, handlers: HANDLERS }));
      expect(await renew([q])).toEqual([true]);
      await (how === 'stopped'
        ? old.run(old.scripts.workers.register({ worker: 'old', serves: false }))
        : q.redis.zadd(q.keys.workers, (await q.now()) - 31_000, 'old'));
      expect(await renew([q], { checks: false })).toEqual([true]);
      expect(await renew([q])).toEqual([false]);
      await q.redis.del(q.keys.wake);
      await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers: HANDLERS }));
      expect(await q.run(q.scripts.limits.get())).toEqual({ source: 'none' });
      expect(await q.takeWake()).toBe(true); // for the jobs that they held back
      expect(await renew([q])).toEqual([true]);
    },
  );

  it('renews also beside settings of a wrong type', async () => {
    const [broken, sound] = [await announced(), await announced()];
    await broken.redis.set(broken.keys.settings, 'of another program');
    broken.broken = true;
    expect(await renew([broken, sound])).toEqual([true, true]);
  });

  it('asks for one where the code configures limits, because registrations decide whose limits apply', async () => {
    const q = await announced({ maxRunning: 3 });
    expect(await renew([q])).toEqual([false]);
  });
});

it.each([true, false])(
  'worker/renew.lua with a list returns the live workers of the queue that is named, with checks: %s',
  async (checks) => {
    const queues = [await announced(), await announced()];
    const [, listed] = queues as [TestQueue, TestQueue];
    await listed.run(listed.scripts.workers.register({ worker: 'w2', serves: true, handlers: HANDLERS }));
    await listed.run(
      listed.scripts.workers.describe({
        worker: 'w2',
        details: { host: 'h', pid: 2, slots: 1, fleet: 'f' },
        ageMs: 0,
      }),
    );
    const { queues: verbs } = RedisStore.of(listed.redis);
    const all = queues.map(({ scripts: calls }) => ({ calls, handlers: HANDLERS }));
    const renewal = { worker: 'w1', checks, lists: { calls: listed.scripts, most: 10 } };
    const outcomes = await verbs.renew(all, renewal, { timeoutMs: 5_000 });
    expect(outcomes).toMatchObject([{ reply: { isKnown: true } }, { reply: { isKnown: true } }]);
    const lists = outcomes.map((each) => each.ok && each.reply.workers);
    expect(lists[0]).toBeUndefined();
    expect(lists[1]).toEqual(await listed.run(listed.scripts.workers.list({ most: 10 })));
    expect(lists[1]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 'w1' }),
        expect.objectContaining({ id: 'w2', fleet: 'f' }),
      ]),
    );
  },
);

it('worker/renew.lua knows a worker that was seen in the same ms', async () => {
  const q = await announced();
  const call = () => renew([q], { checks: false });
  // Some of these calls share a ms.
  const replies = await Promise.all(Array.from({ length: 50 }, call));
  expect(replies.flat()).not.toContain(false);
});
