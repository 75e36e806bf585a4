// What windows show of the shards of a queue: sums, the worst ages, and the shard that needs a look.
import { expect, it } from '@jest/globals';
import { byWhole, joinHistory, joinSigns, joinVerdicts } from '#inspect/join-shards.js';
import type { QueueSigns, QueueVerdict } from '#inspect/queue-signs.js';
import { sharedLimitInWords } from '#inspect/limit-rules.js';
import { verdictOf } from '#inspect/verdict.js';
import type { QueueStats } from '#queue/model/job.js';
import type { SharedLimitState } from '#queue/model/shared-limit.js';
import { shardNames } from '#queue/model/spread.js';
import { NO_STATS } from '../support/queue/no-stats.js';

const AT = new Date('2026-01-01T12:00:00Z');
const NAMES = shardNames('ingest', 3);

const COUNTS = { at: AT, enqueued: 1, completed: 1, failed: 0, cancelled: 0, retried: 0, reclaimed: 0 };

const rates = (attempts: number, failedShare: number) => ({
  windowMs: 60_000,
  in: 1,
  out: 2,
  attempts,
  failedShare,
  growing: false,
});

const quantiles = (p95: number | null) => ({ count: 1, p50: p95, p95, p99: p95 });

const point = (p95: number | null) => ({
  ...COUNTS,
  pending: null,
  processing: null,
  oldestPendingAgeMs: null,
  wait: quantiles(p95),
  run: quantiles(p95),
});

function shard(i: number, stats: Partial<QueueStats>, more: Partial<QueueSigns> = {}): QueueSigns {
  return { queue: NAMES[i]!, stats: { ...NO_STATS, at: AT, workers: 2, maintainedAt: AT, ...stats }, ...more };
}

const holder = (queue: string, permits: number) => ({ queue, worker: 'w', permits });

const paused = { pausedAt: AT, pending: 2, oldestPendingAgeMs: 1_000 };

function known(...all: QueueSigns[]) {
  return all.map((signs) => ({ signs, verdict: verdictOf(signs) }));
}

it('adds the jobs, and takes the worst age and the workers once', () => {
  const unserved = (waitingMs: number) => [{ name: 'x', waitingMs, since: AT }];
  const { queue, stats, slots } = joinSigns('ingest', [
    shard(0, { pending: 1, oldestPendingAgeMs: 5, totals: { completed: 3 } }, { slots: 10 }),
    shard(
      1,
      { pending: 2, oldestPendingAgeMs: 900, parked: 1, totals: { completed: 4, failed: 1 } },
      { slots: 10 },
    ),
    shard(2, { pending: 4, unserved: unserved(7), pausedAt: AT, maintainedAt: new Date(0) }, { slots: 10 }),
  ]);
  expect(queue).toBe('ingest');
  expect(stats).toMatchObject({
    pending: 7,
    parked: 1,
    oldestPendingAgeMs: 900,
    workers: 2,
    totals: { completed: 7, failed: 1 },
    pausedAt: null,
    maintainedAt: new Date(0),
  });
  expect(stats.unserved.map(({ name }) => name)).toEqual(['x']);
  expect(slots).toBe(10);
});

const unservedFor = (...waits: [name: string, waitingMs: number][]) => ({
  unserved: waits.map(([name, waitingMs]) => ({ name, waitingMs, since: AT })),
});

it('names a job name without a worker once, with its longest wait, and the longest of all first', () => {
  const { stats } = joinSigns('ingest', [
    shard(0, unservedFor(['x', 7], ['y', 90])),
    shard(1, unservedFor(['x', 900])),
    shard(2, unservedFor(['y', 8])),
  ]);
  expect(stats.unserved.map(({ name, waitingMs }) => [name, waitingMs])).toEqual([
    ['x', 900],
    ['y', 90],
  ]);
});

it('adds rates, and weighs the failed share', () => {
  const joined = joinSigns('ingest', [
    shard(0, {}, { rates: rates(90, 0) }),
    shard(1, {}, { rates: rates(10, 1) }),
  ]);
  expect(joined.rates).toMatchObject({ in: 2, out: 4, attempts: 100, failedShare: 0.1 });
});

it('names the one shard that needs a look', () => {
  const verdict = joinVerdicts(
    'ingest',
    known(shard(0, {}), shard(1, { pending: 3, oldestPendingAgeMs: 600_000, workers: 0 }), shard(2, {})),
  );
  expect(verdict.queue).toBe('ingest');
  expect(verdict.severity).toBe('critical');
  expect(verdict.summary).toContain(`shard "${NAMES[1]}": stuck`);
});

it('names the shard that is away', () => {
  const away: QueueVerdict = {
    queue: NAMES[2]!,
    severity: 'warning',
    state: 'unreadable',
    summary: 'unreadable: x',
  };
  const verdict = joinVerdicts('ingest', [...known(shard(0, {}), shard(1, {})), { verdict: away }]);
  expect(verdict).toEqual({ ...away, queue: 'ingest', summary: `shard "${NAMES[2]}": unreadable: x` });
  const stuck = { pending: 2, oldestPendingAgeMs: 90_000, workers: 0 };
  const worse = joinVerdicts('ingest', [...known(shard(0, {}), shard(1, stuck)), { verdict: away }]);
  const halted = joinVerdicts('ingest', [...known(shard(0, paused), shard(1, paused)), { verdict: away }]);
  expect(halted.summary).toMatch(
    new RegExp(`^2 of 3 shards, such as "ingest": paused.*; shard "${NAMES[2]}" is unreadable$`),
  );
  expect(worse.summary).toMatch(new RegExp(`^shard "${NAMES[1]}": stuck: .*; shard "${NAMES[2]}" is unreadable$`));
});

it('speaks of the whole queue if all shards are in one state', () => {
  const verdict = joinVerdicts('ingest', known(shard(0, paused), shard(1, paused), shard(2, paused)));
  expect(verdict).toMatchObject({ queue: 'ingest', state: 'paused' });
  expect(verdict.summary).toContain('6 waiting');
  const idle = joinVerdicts('ingest', known(shard(0, {}), shard(1, {}), shard(2, {})));
  expect(idle).toMatchObject({ severity: 'ok', state: 'idle' });
});

function pauseOf(...all: QueueSigns[]) {
  const { pausedAt, pausedBy, pauseReason, pausedUntil } = joinSigns('ingest', all).stats;
  return { pausedAt, pausedBy, pauseReason, pausedUntil };
}

it('knows a pause only while all shards have one, until the first of them goes on', () => {
  const none = { pausedBy: undefined, pauseReason: undefined, pausedUntil: undefined };
  const byAda = shard(1, { ...paused, pausedBy: 'ada', pauseReason: 'a fault', pausedUntil: new Date(9) });
  const byBob = shard(2, { ...paused, pausedBy: 'bob', pausedUntil: new Date(99) });
  expect(pauseOf(shard(0, {}), byAda, byBob)).toEqual({ ...none, pausedAt: null });
  const ada = { pausedAt: AT, pausedBy: 'ada', pauseReason: 'a fault', pausedUntil: new Date(9) };
  expect(pauseOf(shard(0, paused), byBob, byAda)).toEqual(ada);
  expect(pauseOf(shard(0, paused), shard(1, paused))).toEqual({ ...none, pausedAt: AT });
});

it('adds the counts of the history, with the durations of the slowest shard', () => {
  expect(joinHistory([point(5), undefined, point(80), point(null)])).toMatchObject({
    enqueued: 3,
    run: { p95: 80 },
  });
  expect(joinHistory([undefined])).toBeUndefined();
});

it('adds the groups that rest for keys of limits, and has the keys of all shards', () => {
  const key = { name: 'crm', source: 'set' as const, rateLimit: [], running: 1, maxRunning: 1 };
  const lists = { holders: [], waiting: [], queues: [] };
  const awaited = (groups: number, name: string) => ({
    awaitedKeys: { groups, jobs: 2 * groups, keys: [{ ...key, ...lists, key: name }] },
  });
  const joined = joinSigns('ingest', [
    shard(0, {}, awaited(1, 'acme')),
    shard(1, {}),
    shard(2, {}, awaited(4, 'bolt')),
  ]);
  expect(joined.awaitedKeys).toMatchObject({ groups: 5, jobs: 10, keys: [{ key: 'acme' }, { key: 'bolt' }] });
});

it('names the limit that holds some shards back, and each queue that holds it once', () => {
  const [first, second, third] = NAMES as [string, string, string];
  const limit: SharedLimitState = {
    name: 'crm',
    source: 'set',
    rateLimit: [],
    running: 8,
    maxRunning: 8,
    holders: [holder('mail', 3), holder(first, 2), holder(second, 2), holder(third, 1)],
    waiting: [second, third, 'mail'],
    queues: [...NAMES, 'mail'],
  };
  const old = { pending: 4, oldestPendingAgeMs: 60_000, oldestUnheldAgeMs: 60_000, processing: 1 };
  const one = shard(0, { processing: 2 }, { sharedLimits: [limit] });
  const others = [1, 2].map((i) => shard(i, old, { sharedLimits: [limit] }));
  const joined = joinSigns('ingest', [one, ...others]);
  expect(joined.sharedLimits).toMatchObject([{ queues: ['ingest', 'mail'], waiting: ['ingest', 'mail'] }]);
  const words = 'limited by the shared limit crm: 8 run, as many as may (ingest 5, mail 3)';
  expect(verdictOf(joined)).toMatchObject({ state: 'limited', summary: expect.stringContaining(words) });
  expect(verdictOf(others[0]!).summary).toContain(words);
  expect(sharedLimitInWords(limit, AT)).toContain('8 of 8 run (ingest 5, mail 3); waiting: ingest, mail');
});

it('puts the shards of a queue together', () => {
  const joined = byWhole(['mail', NAMES[1]!, NAMES[0]!], (name) => name);
  expect(joined).toEqual([
    { queue: 'mail', shards: ['mail'] },
    { queue: 'ingest', shards: [NAMES[1], NAMES[0]] },
  ]);
});
