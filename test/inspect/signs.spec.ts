// What the signs of a queue say of its last minutes.
import { describe, expect, it } from '@jest/globals';
import { SIGNS_HISTORY_MS, signsOf, type QueueFacts } from '#inspect/signs.js';
import { verdictOf } from '#inspect/verdict.js';
import type { HistoryPoint, HistoryReport } from '#queue/model/history.js';
import type { QueueStats } from '#queue/model/job.js';

const MINUTE = 60_000;
const AT = new Date('2026-01-01T12:00:30Z');
const NONE = { count: 0, p50: null, p95: null, p99: null };
const STATS: QueueStats = {
  at: AT,
  pending: 40,
  scheduled: 0,
  processing: 10,
  completed: 0,
  failed: 0,
  cancelled: 0,
  oldestPendingAgeMs: 25 * MINUTE,
  oldestUnheldAgeMs: 25 * MINUTE,
  expiredClaims: 0,
  workers: 1,
  unserved: [],
  maintainedAt: null,
  maintenanceOverdue: false,
  pausedAt: null,
  totals: {},
};

/** Returns an hour of minutes, the oldest first, with the arrivals and ends of each. */
function history(
  minuteOf: (i: number) => Partial<HistoryPoint>,
  p95: number | null,
  minutes = SIGNS_HISTORY_MS / MINUTE - 1,
): HistoryReport {
  const point = (at: number, of: Partial<HistoryPoint>): HistoryPoint => ({
    at: new Date(at),
    enqueued: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    retried: 0,
    reclaimed: 0,
    pending: 40,
    processing: 10,
    oldestPendingAgeMs: 0,
    wait: NONE,
    run: { ...NONE, p95 },
    ...of,
  });
  const first = Math.floor(AT.getTime() / MINUTE) * MINUTE - minutes * MINUTE;
  const points = Array.from({ length: minutes }, (_, i) => point(first + i * MINUTE, minuteOf(i)));
  return { at: AT, stepMs: MINUTE, points, total: point(first, {}), marks: [] };
}

function judge(report: HistoryReport, stats: Partial<QueueStats> = {}, more: Partial<QueueFacts> = {}) {
  const worker = { id: 'w', seenAt: AT, host: 'h', pid: 1, slots: 10 };
  const facts = { queue: 'video', limits: { source: 'none' as const }, workers: [worker], ...more };
  return verdictOf(signsOf({ ...facts, stats: { ...STATS, ...stats }, history: report }));
}

const keepsUp = (i: number) => ({ enqueued: 1, completed: i % 10 === 9 ? 10 : 0 });
const firstMinute = (completed: number) => history(() => ({ enqueued: 9_000, completed }), 20, 1);
const burst = (i: number) => ({ enqueued: i === 56 ? 9_000 : 0, completed: i > 56 ? 600 : 0 });

describe('jobs that take ten minutes', () => {
  it('do not alarm while they keep up, at any time', () => {
    for (let shift = 0; shift < 10; shift++) {
      const found = judge(history((i) => keepsUp(i + shift), 10 * MINUTE));
      expect(found).toMatchObject({ severity: 'ok', state: 'flowing' });
    }
  });

  it('fall behind where more comes than ends', () => {
    const found = judge(history((i) => ({ enqueued: 2, completed: i % 10 === 9 ? 10 : 0 }), 10 * MINUTE));
    expect(found).toMatchObject({ severity: 'warning', state: 'falling-behind' });
  });

  it('are called slow once none ended in the time of three', () => {
    const found = judge(history(() => ({ enqueued: 0 }), 10 * MINUTE));
    expect(found).toMatchObject({ severity: 'warning', state: 'waiting' });
  });

  it('do not alarm while none has ended yet', () => {
    const found = judge(history(() => ({ enqueued: 1 }), null, 8));
    expect(found).toMatchObject({ severity: 'notice', state: 'waiting' });
  });
});

describe('quick jobs', () => {
  it('are called slow after three minutes without an end', () => {
    const found = judge(history((i) => ({ enqueued: 0, completed: i < 40 ? 60 : 0 }), 800));
    expect(found).toMatchObject({ severity: 'warning', state: 'waiting' });
  });

  it('do not alarm while a burst shrinks', () => {
    expect(judge(history(burst, 800))).toMatchObject({ severity: 'ok' });
  });

  it('are not called slow in the first burst of a queue, whose history has one minute', () => {
    expect(judge(firstMinute(600))).toMatchObject({ severity: 'ok', state: 'flowing' });
    expect(judge(firstMinute(0))).toMatchObject({ severity: 'notice', state: 'waiting' });
  });
});

it('without three minutes of history there are no rates', () => {
  const facts = { queue: 'q', stats: STATS, limits: { source: 'none' as const }, workers: [] };
  expect(signsOf({ ...facts, history: history(() => ({}), 1, 2) }).rates).toBeUndefined();
});

it('the limits of the queue are signs', () => {
  const rateLimit = { limit: 10, periodMs: 1_000 };
  const limits = { source: 'set' as const, maxRunning: 2, rateLimit, restsUntil: AT, groups: { maxRunning: 1 } };
  const facts = { queue: 'q', stats: STATS, limits, workers: [], history: history(() => ({}), 1) };
  expect(signsOf(facts)).toMatchObject({
    maxRunning: 2,
    rateLimit,
    restsUntil: AT,
    groupLimits: { maxRunning: 1 },
  });
});
