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

const waits = (min: number) => ({ oldestPendingAgeMs: min * MINUTE, oldestUnheldAgeMs: min * MINUTE });

const changeOf = (arrivals: number) => {
  const minutes = history(
    (i) =>
      i < 50 ? { enqueued: 60, run: { ...NONE, p50: 100 } } : { enqueued: arrivals, run: { ...NONE, p50: 4_000 } },
    100,
  );
  return signsOf({ queue: 'video', limits: { source: 'none' }, workers: [], stats: STATS, history: minutes })
    .change;
};

it('a change of the last hour is the run time, and says whether the arrivals have grown too', () => {
  expect(changeOf(60)).toEqual({ of: 'run', before: 100, now: 4_000, since: expect.any(Date) });
  expect(changeOf(600)).toMatchObject({ of: 'run', alsoMore: true });
});

/** Returns the change after minutes with these figures. */
const jump = (figures: readonly number[], of: 'run' | 'in' = 'run') => {
  const minutes = history(
    (i) => (of === 'in' ? { enqueued: figures[i]! } : { run: { ...NONE, p50: figures[i]! } }),
    100,
    figures.length,
  );
  return signsOf({ queue: 'video', limits: { source: 'none' }, workers: [], stats: STATS, history: minutes })
    .change;
};
const times = (count: number, value: number) => Array.from({ length: count }, () => value);

const mark = (worker: string, agoMs: number, name = 'image'): HistoryReport['marks'][number] => ({
  kind: 'death',
  at: new Date(AT.getTime() - agoMs),
  death: { worker, how: 'worker process ended', jobs: 1, ran: [{ id: worker, name }] },
});
const signsWith = (...marks: HistoryReport['marks']) =>
  signsOf({
    queue: 'video',
    limits: { source: 'none' },
    workers: [{ id: 'w', seenAt: AT }],
    stats: { ...STATS, ...waits(0), failed: 1 },
    history: { ...history(() => ({ enqueued: 0 }), 20), marks },
  });

describe('a jump of a figure', () => {
  it.each<[string, number[], 'run' | 'in', boolean]>([
    ['a run time below three times', [...times(5, 100), ...times(3, 299)], 'run', false],
    ['three times the run time', [...times(5, 100), ...times(3, 300)], 'run', true],
    ['less than 50 ms more', [...times(5, 10), ...times(3, 59)], 'run', false],
    ['50 ms more', [...times(5, 10), ...times(3, 60)], 'run', true],
    ['less than one more in two seconds', [...times(5, 6), ...times(3, 35)], 'in', false],
    ['one more in two seconds', [...times(5, 6), ...times(3, 36)], 'in', true],
    ['four minutes before', [...times(4, 100), ...times(3, 900)], 'run', false],
    ['one slow minute of three', [...times(5, 100), 100, 900, 100], 'run', false],
    ['a last minute that is as usual again', [...times(5, 100), 900, 900, 100], 'run', false],
    ['a fall', [...times(5, 900), ...times(3, 100)], 'run', false],
    ['one usual minute of the last three', [...times(5, 100), 900, 100, 900], 'run', true],
    ['a jump that began long ago', [...times(10, 100), ...times(13, 900)], 'run', true],
    ['one outlier before', [900, ...times(9, 100), ...times(3, 900)], 'run', true],
  ])('%s: %j of %s is one: %s', (_case, figures, of, isJump) => {
    expect(jump(figures, of) !== undefined).toBe(isJump);
  });

  it('names the medians and the first minute that was unlike those before', () => {
    const found = jump([...times(10, 100), 150, 400, 900, 500]);
    expect(found).toMatchObject({ of: 'run', before: 100, now: 500 });
    expect(found!.since).toEqual(new Date(Math.floor(AT.getTime() / MINUTE) * MINUTE - 3 * MINUTE));
  });

  it.each<[string, (number | null)[], since: number]>([
    ['counts no minute without a job', [null, 100, null, ...times(9, 100), null, 900, 900, 900], 13],
    ['begins with the minute that reaches the least difference', [...times(10, 10), 50, 60, 60], 10],
    ['begins with the second minute of several', [100, 4_000, 4_000, 4_000, ...times(5, 4_000)], 1],
  ])('%s', (_case, figures, since) => {
    const minutes = history((i) => ({ run: { ...NONE, p50: figures[i]! } }), 100, figures.length);
    const ofDays = since === 1 ? { days: days(0, 100) } : {};
    const facts = { queue: 'video', limits: { source: 'none' as const }, workers: [], stats: STATS };
    expect(signsOf({ ...facts, history: minutes, ...ofDays }).change?.since).toEqual(minutes.points[since]!.at);
  });

  it('needs jobs of both times: a queue without ends has no change', () => {
    expect(changeOf(60)).toBeDefined();
    expect(jump([])).toBeUndefined();
  });
});

/** Returns the same hour of the last days: with these jobs a minute, and their median run time. */
const days = (enqueued: number, p50: number, i = 0): HistoryReport => {
  const minutes = history((minute) => ({ enqueued: minute < i ? 900 : enqueued, run: { ...NONE, p50 } }), 200);
  const quantiles = { count: 60, p50, p95: 2 * p50, p99: null };
  return { ...minutes, total: { ...minutes.total!, run: quantiles, wait: { ...NONE, p50: 700 } } };
};

describe('what is usual at this hour', () => {
  const hour = history(() => ({ enqueued: 600, run: { ...NONE, p50: 4_000 } }), 5_000);
  const facts = { queue: 'video', limits: { source: 'none' as const }, workers: [], stats: STATS, history: hour };

  it('is that of the last days, so an hour that is slow from its begin is a change', () => {
    expect(signsOf({ ...facts, days: days(600, 100) })).toMatchObject({
      usualRunMs: 200,
      usualWaitMs: 700,
      change: { of: 'run', before: 100, now: 4_000 },
    });
    expect(signsOf(facts)).toMatchObject({ usualRunMs: 5_000, change: undefined });
    expect(judge(hour, waits(25), { days: days(600, 100) }).cause).toBe(
      'run p50 100 ms → 4 s for over an hour; arrivals as usual',
    );
  });

  it('has the busy minutes of each day', () => {
    expect(signsOf({ ...facts, days: days(60, 4_000) }).change).toMatchObject({ of: 'in', before: 1, now: 10 });
    expect(signsOf({ ...facts, days: days(60, 4_000, 7) }).change).toBeUndefined();
  });

  it('may be no arrivals: then the change has a begin too', () => {
    const minutes = history((i) => ({ enqueued: i < 50 ? 0 : 600 }), 20);
    const { change } = signsOf({ ...facts, history: minutes, days: days(0, 20) });
    expect(change).toEqual({ of: 'in', before: 0, now: 10, since: minutes.points[50]!.at });
  });

  it('is that of the last hour where the days had hardly a job', () => {
    const quiet = days(0, 1);
    const few = { ...quiet, total: { ...quiet.total!, run: { ...NONE, count: 4, p95: 1 } } };
    expect(signsOf({ ...facts, days: few }).usualRunMs).toBe(5_000);
    const enough = { ...quiet, total: { ...quiet.total!, run: { ...NONE, count: 5, p95: 1 } } };
    expect(signsOf({ ...facts, days: enough }).usualRunMs).toBe(1);
  });

  it('shows in three minutes, and needs none of them', () => {
    const three = history(() => ({ run: { ...NONE, p50: 4_000 } }), 5_000, 3);
    expect(signsOf({ ...facts, history: three, days: days(0, 100) }).change).toEqual({
      of: 'run',
      before: 100,
      now: 4_000,
    });
    const none: HistoryReport = { ...history(() => ({}), null, 0), total: undefined };
    for (const of of [{}, { days: none }, { days: days(0, 100) }]) {
      expect(signsOf({ ...facts, history: none, ...of }).change).toBeUndefined();
    }
    expect(signsOf({ ...facts, history: none, days: none })).toMatchObject({
      usualRunMs: undefined,
      usualWaitMs: undefined,
    });
  });
});

describe('workers that died', () => {
  it('are those of the last ten minutes, each once, the last first, without one that announced itself since', () => {
    const died = signsWith(
      mark('old', 601_000),
      mark('w', 5_000),
      mark('a', 600_000),
      mark('b', 9_000),
      mark('a', 8_000),
    );
    expect(died.deaths).toMatchObject([
      { worker: 'b', jobs: 1 },
      { worker: 'a', jobs: 2 },
    ]);
  });

  it('are counted with what all of them ran', () => {
    const many = [1, 2, 3, 4, 5].map((i) => mark(`web-${i}`, i * 1_000));
    expect(verdictOf(signsWith(...many))).toMatchObject({
      severity: 'critical',
      summary: 'crashing: 5 workers died in 10 min, all while running `image`',
    });
    expect(verdictOf(signsWith(mark('a', 1), mark('b', 1, 'video')))).toMatchObject({
      severity: 'warning',
      summary: 'crashing: 2 workers died in 10 min, while running video and image',
    });
    expect(verdictOf(signsWith(mark('a', 1))).summary).not.toContain('crashing');
  });
});

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
    expect(judge(history(burst, 800), waits(4))).toMatchObject({ severity: 'ok' });
  });

  it('are not called slow in the first burst of a queue, whose history has one minute', () => {
    expect(judge(firstMinute(600), waits(4))).toMatchObject({ severity: 'ok', state: 'flowing' });
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

const judged = (agoS: number, completed = 1_900) => {
  const report = history(() => ({ enqueued: 60, completed: 0 }), 20);
  const closed = { at: new Date(AT.getTime() - agoS * 1_000), totals: { enqueued: 1_000, completed: 900 } };
  const totals = { enqueued: 1_030, completed };
  return judge({ ...report, closed }, { ...waits(25), totals });
};

describe('a single look after a repair', () => {
  it('says that the backlog drains, by what ended in the open minute', () => {
    expect(judged(30)).toMatchObject({
      severity: 'notice',
      summary: expect.stringMatching(/^draining: 33\/s out, 40 waiting for 25 min, done in 1\.2 s/),
    });
  });

  it('takes the last minute along while the open one is short, and says nothing after one that nobody closed', () => {
    expect(judged(14).summary).toMatch(/^draining: 14\/s out/);
    expect(judged(14, 950).severity).toBe('warning'); // half of the last minute's arrivals
    expect(judged(76).severity).toBe('warning');
  });
});

describe('the used slots of a queue whose jobs take several', () => {
  const weights = [
    { name: 'heavy', slots: 4 },
    { name: 'light', slots: 2 },
  ];
  const worker = (id: string, slots: number) => ({ id, seenAt: AT, host: 'h', pid: 1, slots, weights });
  const used = (names: string[], processing = names.length, more: Partial<QueueFacts> = {}) =>
    signsOf({
      queue: 'video',
      limits: { source: 'none' },
      workers: [worker('w', 10)],
      stats: { ...STATS, processing },
      history: history(() => ({}), 20),
      claimed: names.map((name) => ({ name, worker: 'w' })),
      ...more,
    }).usedSlots;

  it.each<[string, number | undefined, number]>([
    ['of each job', used(['heavy', 'light']), 6],
    ['with the slots that are too few for the lightest', used(['heavy', 'heavy', 'other']), 10],
    ['of all jobs, if only some were read', used(['heavy'], 2), 8],
    [
      'with a job of another client',
      used(['light'], 2, { claimed: [{ name: 'light' }, { name: 'light', worker: 'w' }] }),
      3,
    ],
  ])('are those %s', (_case, found, slots) => {
    expect(found).toBe(slots);
  });

  it('are unknown where each job takes one', () => {
    expect(
      signsOf({
        queue: 'video',
        limits: { source: 'none' },
        workers: [],
        stats: STATS,
        history: history(() => ({}), 20),
      }).usedSlots,
    ).toBeUndefined();
  });

  it('count the slots of stuck handlers', () => {
    const stuck = [{ id: '1', name: 'heavy' }];
    const signs = signsOf({
      queue: 'video',
      limits: { source: 'none' },
      workers: [{ ...worker('w', 4), stuck }],
      stats: { ...STATS, processing: 1 },
      history: history(() => ({}), 20),
    });
    expect(signs).toMatchObject({ slots: 4, stuckSlots: 4, stuckJobs: 1 });
    expect(verdictOf(signs).summary).toContain('4 of 4 slots are kept by handlers that do not end');
    expect(verdictOf({ ...signs, maxRunning: 1 }).summary).toContain('4 of 4 slots');
    const six = [{ name: 'heavy', slots: 6 }];
    const workers = [{ ...worker('w', 20), weights: six, stuck: [...stuck, { id: '2', name: 'heavy' }] }];
    const twelve = signsOf({
      queue: 'video',
      limits: { source: 'none' },
      workers,
      stats: STATS,
      history: history(() => ({}), 20),
    });
    expect(twelve).toMatchObject({ stuckSlots: 12, stuckJobs: 2 });
  });

  it('count what the enqueue of a job asked for where its worker has a range', () => {
    const ranged = { ...worker('w', 20), weights: [{ name: 'heavy', slots: 2, most: 6 }] };
    const stuck = [{ id: '1', name: 'heavy', slots: 9 }];
    const of = (claimed: QueueFacts['claimed']) =>
      signsOf({
        queue: 'video',
        limits: { source: 'none' },
        workers: [{ ...ranged, stuck }],
        stats: { ...STATS, processing: claimed!.length },
        history: history(() => ({}), 20),
        ...(claimed && { claimed }),
      });
    const plain = { name: 'heavy', worker: 'w' };
    expect(of([{ ...plain, slots: 5 }, plain, { ...plain, slots: 9 }]).usedSlots).toBe(13);
    expect(of([{ ...plain, slots: 5 }, plain])).toMatchObject({ usedSlots: 7, stuckSlots: 6, stuckJobs: 1 });
  });
});
