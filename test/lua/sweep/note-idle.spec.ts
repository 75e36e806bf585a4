import { expect, it } from '@jest/globals';
import { RedisStore } from '#queue/redis-store.js';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const NOTE = { everyMs: 5_000, gapMs: 180_000 };

async function noteIdle(...queues: TestQueue[]): Promise<boolean[]> {
  const scripts = queues.map((q) => q.scripts);
  const outcomes = await RedisStore.of(queues[0]!.redis).queues.noteIdle(scripts, NOTE, { timeoutMs: 5_000 });
  return outcomes.map((outcome) => outcome.ok && outcome.reply);
}

/** Returns a queue that a worker announced, and whose history has begun. */
async function served(): Promise<TestQueue> {
  const q = testQueue();
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  await noteIdle(q);
  return q;
}

it('says that the queue was maintained, so that health calls nothing overdue', async () => {
  const q = await served();
  const longAgo = (await q.now()) - 3_600_000;
  await q.redis.hset(q.keys.sweep, {
    last_run_at_ms: longAgo,
    served_since_ms: longAgo,
    maintained_at_ms: longAgo,
  });
  expect(await q.run(q.scripts.stats())).toMatchObject({ maintenanceOverdue: true });
  expect(await noteIdle(q)).toEqual([false]);
  const { maintenanceOverdue, maintainedAt } = await q.run(q.scripts.stats());
  expect(maintenanceOverdue).toBe(false);
  expect(maintainedAt!.getTime()).toBeGreaterThan(longAgo);
});

it('leaves no key of a queue that nobody uses, and begins the history of one with a worker or counters', async () => {
  const q = testQueue();
  await noteIdle(q);
  await q.run(q.scripts.history.reportVersion({ version: '1.0', begins: false }));
  expect(await q.snapshot()).toEqual({});
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  await noteIdle(q);
  expect(await q.redis.pttl(q.keys.historyOpen)).toBeGreaterThan(0);
  const counted = testQueue();
  await counted.addAll('a');
  await noteIdle(counted);
  expect(await counted.redis.exists(counted.keys.historyOpen)).toBe(1);
});

it('asks for a minute with counts, each by itself, and counts from its first note on', async () => {
  const [idle, used] = [await served(), await served()];
  await used.add('a');
  expect(await noteIdle(idle, used)).toEqual([false, true]);
  await used.redis.hset(used.keys.historyOpen, 'at_ms', (await used.now()) - 61_000);
  const reading = { pending: 1, processing: 0, oldestPendingAgeMs: 0, version: '', gapMs: NOTE.gapMs };
  await used.run(used.scripts.history.closeMinute(reading));
  const { entries } = await used.run(used.scripts.history.read({ backMs: 3_600_000, most: 10 }));
  expect(entries).toMatchObject([{ counts: { enqueued: 1 } }]);
  expect(await noteIdle(idle, used)).toEqual([false, false]);
});

it.each(['enqueued', 'completed', 'failed', 'cancelled', 'retried', 'reclaimed'])(
  'asks for a minute in which jobs were %s, and nothing else happened',
  async (counter) => {
    const q = await served();
    await q.redis.hincrby(q.keys.stats, `${counter}_total`, 1);
    expect(await noteIdle(q)).toEqual([true]);
  },
);

it('moves an idle minute on, so that rest is no outage, and asks for one after an outage', async () => {
  const q = await served();
  const ago = async (ms: number) => q.redis.hset(q.keys.historyOpen, 'at_ms', (await q.now()) - ms);
  await ago(130_000);
  const before = await q.now();
  expect(await noteIdle(q)).toEqual([false]);
  expect(Number(await q.redis.hget(q.keys.historyOpen, 'at_ms'))).toBeGreaterThanOrEqual(before);
  await ago(181_000);
  expect(await noteIdle(q)).toEqual([true]);
  await ago(-3_600_000); // from a clock that was ahead
  expect(await noteIdle(q)).toEqual([true]);
});

it('writes no history where the queue keeps none', async () => {
  const q = testQueue({ history: false });
  expect(await noteIdle(q)).toEqual([false]);
  expect(await q.redis.exists(q.keys.historyOpen)).toBe(0);
});
