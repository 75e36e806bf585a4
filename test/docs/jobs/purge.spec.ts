// The table of docs/managing-jobs.md that lists what a purge leaves, and how long it stays.
import { describe, expect, it } from '@jest/globals';
import { RunStore } from '#dashboard/actions/bulk-runs.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import type { JobQueue } from '#queue/job-queue.js';
import { KEYS } from '#queue/validation/key-table.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { queueOn, type TestQueue } from '../../support/queue/queue-state.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';
import { rowsOf } from '../table.js';
import { sealed } from '../../support/queue/unsealed.js';

const DAY = 86_400_000;
const error = new Error('no');

/** The longest life of a key, in ms, by the words of the table; undefined for one without an expiry. */
const LIVES: Record<string, number | undefined> = {
  'until you delete it': undefined,
  '10 seconds': 10_000,
  'four intervals of `maintenance`: 20 seconds': 20_000,
  'one `visibilityMs`': 30_000,
  '5 minutes': 300_000,
  '10 minutes': 600_000,
  '5 minutes and two `visibilityMs`': 360_000,
  'an hour': 3_600_000,
  'a day': DAY,
  '72 hours': 3 * DAY,
  'a week': 7 * DAY,
  '180 days': 180 * DAY,
};

/** Uses a queue in every way that writes a key. */
async function useAll(queue: JobQueue, state: TestQueue): Promise<void> {
  const other = newQueue({}, queue.store);
  const { scripts, redis, keys } = state;
  await queue.limits.set({ maxRunning: 100, groups: { maxRunning: 50 } });
  await queue.groups.set('g', { maxRunning: 2, maxPending: 5 });
  await queue.groups.pause('g');
  await Promise.all([keys.outcomesA, keys.outcomesB].map((key) => redis.hset(key, 'a', 'completed 1 1 a')));
  await queue.schedules.upsert('nightly', { cron: '0 3 * * *' });
  await state.run(
    scripts.workers.register({
      worker: 'w1',
      serves: true,
      handlers: [{ name: queue.name, maxAttempts: 1, maxCrashes: 1 }],
    }),
  );
  await state.run(
    scripts.workers.register({
      worker: 'w1',
      serves: true,
      handlers: [{ name: `@failed:${queue.name}`, maxAttempts: 1, maxCrashes: 1 }],
    }),
  );
  await redis.zadd(keys.scheduleOwners, await state.now(), 'nightly'); // as if code had declared it
  await state.run(scripts.workers.describe({ worker: 'w1', details: { host: 'box', pid: 1 } as never, ageMs: 0 }));
  const minute = { pending: 1, processing: 0, oldestPendingAgeMs: 5, version: '1', gapMs: 60_000 };
  await state.run(scripts.history.closeMinute(minute));
  await redis.hset(keys.historyOpen, 'at_ms', 1);
  await state.run(scripts.history.closeMinute(minute));
  await state.run(scripts.history.addDurations({ worker: 'w1', batch: 'b1', counts: ['w3', 1] }));
  await new RunStore().write(queue, { id: 'run' } as never);

  await queue.enqueue(1, { id: 'completes' });
  const claim = (await queue.claim())!;
  await state.run(scripts.streams.write({ writes: [{ claim, first: 1, chunks: [{ kind: 'j', json: '1' }] }] }));
  await queue.complete(claim);
  await queue.enqueue(1, { id: 'fails' });
  await queue.fail((await queue.claim())!, error, { final: true });
  await queue.complete((await queue.claim())!); // of the failure handler
  await state.run(scripts.deadLetters.markKind({ kind: 'kind', words: { known: true }, quietForMs: 0 }));
  await queue.enqueue(1, { id: 'parks' });
  const parks = (await queue.claim())!;
  await state.run(scripts.wait({ claim: parks, name: 'approved', kind: 'signal' }));
  await state.run(scripts.release([{ ...parks, reason: 'wait', delayMs: 0 }]));
  await queue.enqueue(1, { id: 'is-cancelled' });
  await queue.claim({ worker: 'w1' });
  await queue.cancel('is-cancelled');
  await queue.enqueue(1, { id: 'waited' });
  await queue.cancel('waited');
  await queue.enqueue(1, { id: 'of-another-client' });
  await redis.lmove(keys.pending, keys.processing, 'RIGHT', 'LEFT');
  await queue.reclaim(); // sees it
  await queue.enqueue(1, { unique: { key: 'held', for: { ms: DAY } }, delayMs: DAY });
  const unique = { key: 'k', for: 'unfinished', onConflict: 'replace' } as const;
  await queue.enqueue(1, { unique, delayMs: DAY });
  await queue.enqueue(2, { unique, delayMs: DAY });
  await queue.enqueue(1, { id: 'first', delayMs: DAY });
  await queue.enqueue(1, { id: 'waits', after: ['first'] });
  await queue.enqueue(1, { group: 'g', delayMs: DAY });
  const ended = queue.batch({ id: 'ended', then: { name: 'then' } });
  await ended.seal();
  await queue.complete((await queue.claim())!);
  const open = queue.batch({ id: 'open', finally: { name: 'last' } });
  await open.addMany(queue.name, [{ payload: 1 }]);
  await open.seal();
  const foreign = other.batch({ id: 'foreign', finally: { name: 'last' } });
  await foreign.addMany('guest', [{ payload: 1 }, { payload: 2 }], { queue });
  const guest = (await queue.claimMany(10)).find(({ name }) => name === 'guest')!;
  await state.run(scripts.complete([{ ...guest, result: '1' }])); // and dies before it reports that to the other queue
  await queue.enqueue(1, { id: 'read' });
  await queue.enqueue(1, { id: 'reader', after: ['read'], delayMs: DAY });
  await queue.complete((await queue.claim())!);
  await queue.pause();
  await queue.enqueue(1, { priority: 1 });
  await redis.zadd(keys.waiters, await state.now(), 'w1'); // as on a Cluster
  await redis.pexpire(keys.waiters, 300_000);
  await redis.hset(keys.profile, 'id', 'one');
  await redis.pexpire(keys.profile, 3_600_000);
  await state.run(scripts.alerts.takeTurn({ token: 'teller', everyMs: 60_000 }));
  await state.run(
    scripts.sweep.hold({
      set: 'queues',
      process: 'process',
      lengthMs: 10_000,
      turns: { intervalMs: 5_000, most: 10 },
    }),
  );
  const job = { id: 'of-a-sender', name: 'email', payload: sealed('1') };
  await queue.exec((calls) =>
    calls.once.enqueue({ sender: { source: 'orders', fence: 1 }, entries: [{ key: 'row', job }] }),
  );
}

/** Returns the keys of a queue without their start, and how long each lives in ms; -1: without an end. */
async function livesOf({ redis, keys: { base } }: TestQueue): Promise<[key: string, ms: number][]> {
  const keys = (await redis.keys(`${base}*`)).toSorted();
  return Promise.all(keys.map(async (key) => [key.slice(base.length), await redis.pttl(key)] as [string, number]));
}

const inBackticks = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, each]) => each!);

const fits = (key: string, name: string) => (name.endsWith('…') ? key.startsWith(name.slice(0, -1)) : key === name);

describe('the data that a purge leaves', () => {
  const rows = rowsOf('purge', 'docs/managing-jobs.md').slice(2);
  const named = rows.flatMap(([keys, , life]) => inBackticks(keys!).map((key) => [key, life!] as const));

  it('is all in the table, and lives as long as its row says', async () => {
    const { queue, state } = coreQueue({ auditTrail: { maxEntries: 1_000 }, outcomes: {} });
    await useAll(queue, state);
    const used = await livesOf(state);
    const parts = Object.values(KEYS).map(([part]) => part);
    const unused = parts.filter((part) => !used.some(([each]) => each.startsWith(part)));
    expect(unused).toEqual(['events']); // a channel
    await queue.purge({ confirm: queue.name });
    const left = await livesOf(state);
    for (const [key, ms] of left) {
      const life = named.find(([name]) => fits(key, name))?.[1];
      expect([key, Object.keys(LIVES)]).toEqual([key, expect.arrayContaining([life])]);
      const most = LIVES[life!] ?? Infinity;
      expect([key, ms === -1 ? most : Math.max(ms, most)]).toEqual([key, most === Infinity ? Infinity : most]);
      expect([key, ms === -1 && most < Infinity]).toEqual([key, false]);
    }
    const lasting = named.filter(([, life]) => life !== '10 seconds'); // those may be over
    expect(lasting.filter(([name]) => !left.some(([key]) => fits(key, name)))).toEqual([]);
  });

  it('with `everything` is nothing, and no key of another queue is touched', async () => {
    const { queue, state } = coreQueue({ auditTrail: { maxEntries: 1_000 } });
    const other = queueOn(state.redis, {}, `${queue.name}:eu`);
    await other.addAll('stays');
    const before = await other.snapshot();
    await useAll(queue, state);
    await refusedWithWorkers(queue);
    await state.redis.zadd(state.keys.workers, 1, 'w1');
    expect(await queue.purge({ confirm: queue.name, everything: true })).toBeGreaterThan(5);
    const left = await state.redis.keys(`${state.keys.base}*`);
    expect(left.filter((key) => !key.startsWith(other.keys.base))).toEqual([]);
    expect(await other.snapshot()).toEqual(before);
  });
});

async function refusedWithWorkers(queue: JobQueue): Promise<void> {
  const refused = queue.purge({ confirm: queue.name, everything: true });
  await expect(refused).rejects.toThrow(InvalidOptionError);
  await expect(refused).rejects.toThrow(
    'purge everything: expected a queue without live workers, found 1. Stop its workers',
  );
}

onEachStore('a purge of everything', () => {
  it('leaves a queue as one that was never used', async () => {
    const [queue, fresh] = [newQueue(), newQueue()];
    await queue.schedules.upsert('nightly', { cron: '0 3 * * *' });
    await queue.limits.set({ maxRunning: 1 });
    await queue.pause({ by: 'ada' });
    await queue.enqueue(1, { id: 'a' });
    expect(await queue.purge({ confirm: queue.name, everything: true })).toBe(1);
    expect({ ...(await queue.stats()), at: 0 }).toEqual({ ...(await fresh.stats()), at: 0 });
    expect(await queue.limits.get()).toEqual(await fresh.limits.get());
    expect(await queue.schedules.list()).toEqual([]);
    expect(await queue.enqueue(1, { id: 'a' })).toMatchObject({ outcome: 'new' });
    expect((await queue.claim())!.fence).toBe(1);
  });

  it('is refused with another value than true or false', async () => {
    const queue = newQueue();
    const options = { confirm: queue.name, everything: 1 as never };
    await expect(queue.purge(options)).rejects.toThrow('purge everything: expected true or false, found 1.');
  });
});
