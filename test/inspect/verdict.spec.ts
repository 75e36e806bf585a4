// One planted case for every sentence of the verdict, and quiet where all is well.
import type { ScheduleRecord } from '#queue/model/schedule.js';
import { describe, expect, it } from '@jest/globals';
import type { QueueSigns, QueueState, RecentRates, Severity } from '#inspect/queue-signs.js';
import { harmOf, verdictOf, worstFirst, worstOf } from '#inspect/verdict.js';
import type { QueueStats } from '#queue/model/job.js';
import { schedule } from './rule-cases.js';
import { NO_STATS } from '../support/queue/no-stats.js';
import { someOf } from '../support/run/samples.js';

const AT = new Date('2026-01-01T12:00:00Z');
const QUIET: QueueStats = { ...NO_STATS, at: AT, workers: 2 };

function judge(stats: Partial<QueueStats>, signs: Partial<QueueSigns> = {}) {
  const { oldestPendingAgeMs: oldestUnheldAgeMs = 0 } = stats;
  return verdictOf({ queue: 'email', at: AT, ...signs, stats: { ...QUIET, oldestUnheldAgeMs, ...stats } });
}

const MINUTE = 60_000;
const unserved = (name: string) => ({ name, waitingMs: MINUTE });
const rates = (inRate: number, out: number, failedShare = 0) => ({
  windowMs: 5 * MINUTE,
  in: inRate,
  out,
  failedShare,
  attempts: Math.round((out + inRate * failedShare) * 300),
  growing: out < inRate,
});

describe('the verdict on a delay', () => {
  const late = { pending: 16_866, processing: 4, oldestPendingAgeMs: 27 * MINUTE };
  it('calls a queue late that keeps its pace', () => {
    expect(judge(late, { rates: rates(28, 28), slots: 4 })).toMatchObject({
      severity: 'warning',
      state: 'late',
      summary: 'late: 28/s in, 28/s out, 16,866 waiting for 27 min; it keeps its pace, so the delay stays',
    });
  });

  it.each<[string, Partial<QueueStats>, Partial<QueueSigns>, QueueState]>([
    ['later than its own limit', { oldestPendingAgeMs: 20_000, lateAfterMs: 15_000 }, {}, 'late'],
    ['within its own limit', { oldestPendingAgeMs: 27 * MINUTE, lateAfterMs: 60 * MINUTE }, {}, 'flowing'],
    ['ten times its usual wait', { oldestPendingAgeMs: 2 * MINUTE }, { usualWaitMs: 4_000 }, 'late'],
    ['within a minute', { oldestPendingAgeMs: 50_000 }, { usualWaitMs: 40 }, 'flowing'],
    ['held back by groups', { oldestPendingAgeMs: 27 * MINUTE, oldestUnheldAgeMs: 0 }, {}, 'flowing'],
  ])('%s', (_, stats, signs, state) => {
    expect(judge({ ...late, ...stats }, { rates: rates(28, 28), ...signs }).state).toBe(state);
  });
});

const since = (ms: number) => ({ overdueSince: new Date(AT.getTime() - ms) });
const run = (min: number, status: 'processing' | 'kept' | 'completed') => ({
  jobId: status === 'kept' ? null : 'j',
  at: new Date(AT.getTime() - min * MINUTE),
  status,
  isByHand: false,
});

it('does not call a queue stuck or slow from which jobs have ended for some seconds', () => {
  const stats = { pending: 500, oldestPendingAgeMs: 11 * MINUTE };
  const nothing = { ...rates(5, 0), growing: true };
  const pace = { inPerS: 5, outPerS: 2, failedPerS: 0 };
  for (const more of [{}, { rateLimit: { limit: 2, periodMs: 1_000 } }]) {
    expect(judge(stats, { rates: nothing, ...more }).state).toBe('stuck');
    expect(judge(stats, { rates: nothing, pace, ...more })).toMatchObject({ state: 'falling-behind' });
  }
  expect(judge({ ...stats, processing: 1 }, { rates: { ...nothing, growing: false } }).summary).toMatch(/^slow/);
  const level = { rates: { ...nothing, growing: false }, pace: { ...pace, outPerS: 5 } };
  expect(judge({ ...stats, processing: 1 }, level).summary).toMatch(/^late/);
});

it('has the rates of the last seconds after a repair, also where the delay stays', () => {
  const stats = { pending: 500, processing: 4, oldestPendingAgeMs: 11 * MINUTE };
  const before = { ...rates(31, 0), growing: true };
  expect(judge(stats, { rates: before, pace: { inPerS: 31, outPerS: 30, failedPerS: 0 } })).toMatchObject({
    state: 'late',
    summary: 'late: 31/s in, 30/s out, 500 waiting for 11 min; it keeps its pace, so the delay stays',
  });
  expect(judge(stats, { rates: before, pace: { inPerS: 31, outPerS: 5, failedPerS: 0 } }).summary).toBe(
    'falling behind: 31/s in, 5/s out, 500 waiting for 11 min; at this pace it never drains',
  );
});

describe('the verdict on a silent worker', () => {
  const silent = [
    { id: 'web-3:4711:x', seenAt: new Date(AT.getTime() - 40_000), holds: 12 },
    { id: 'web-4:4711:x', seenAt: new Date(AT.getTime() - 50_000), holds: 1 },
  ];
  const named = '`web-3`, last seen 40 s ago, holds 12 jobs; 1 more holds 1 job';

  it('names it while others serve the queue', () => {
    expect(judge({ processing: 13 }, { silent })).toMatchObject({
      severity: 'notice',
      state: 'flowing',
      summary: `flowing: 13 running; ${named}`,
      next: 'look at its process; other workers run these jobs once their claims expire',
    });
  });

  it('names it before a limit that its jobs fill', () => {
    const full = { pending: 9, processing: 13, oldestPendingAgeMs: 2 * MINUTE };
    const signs = { silent, maxRunning: 13 };
    expect(judge(full, signs).summary).toContain(named);
    expect(judge(full, { ...signs, rates: { ...rates(9, 3), growing: true } }).cause).toContain(named);
  });

  it('names it where no worker is left', () => {
    const stats = {
      workers: 0,
      pending: 3,
      oldestPendingAgeMs: MINUTE,
      lastWorkerAt: new Date(AT.getTime() - 40_000),
    };
    expect(judge(stats, { silent })).toMatchObject({
      summary: 'stuck: 3 waiting for 1 min, no worker',
      cause: `no live worker serves \`email\`; ${named}`,
    });
  });
});

describe('the verdict after a repair', () => {
  const backlog = { pending: 380, processing: 4, oldestPendingAgeMs: 6 * MINUTE, failed: 0 };
  it('sees by the last seconds that a queue drains', () => {
    const repaired = { rates: rates(9, 0), pace: { inPerS: 0, outPerS: 38, failedPerS: 0 } };
    expect(judge(backlog, repaired)).toMatchObject({
      severity: 'notice',
      summary: 'draining: 38/s out, 380 waiting for 6 min, done in 10 s',
    });
    expect(judge(backlog, { ...repaired, pace: { inPerS: 9, outPerS: 1, failedPerS: 0 } }).state).toBe(
      'falling-behind',
    );
  });

  it('calls a queue without a worker stuck only 30 s after the last one has gone', () => {
    const gone = (ms: number) =>
      judge({ pending: 3, workers: 0, oldestPendingAgeMs: MINUTE, lastWorkerAt: new Date(AT.getTime() - ms) });
    expect(gone(12_000)).toMatchObject({
      severity: 'notice',
      summary: 'waiting: 3 waiting for 1 min, no worker for 12 s',
    });
    expect(gone(3 * MINUTE)).toMatchObject({
      severity: 'critical',
      cause: 'no live worker serves `email`; the last one was seen 3 min ago',
    });
  });
});

it('the verdict on a change names a slower handler as the cause, and does not ask for workers', () => {
  const change = { of: 'run' as const, before: 100, now: 4_000, since: new Date('2026-01-01T11:53:00Z') };
  expect(judge({ pending: 900, oldestPendingAgeMs: 6 * MINUTE }, { rates: rates(9, 3), change })).toMatchObject({
    state: 'falling-behind',
    cause: 'run p50 100 ms → 4 s since 11:53 UTC; arrivals as usual',
    next: 'look at what the handler waits for',
  });
  const both = judge(
    { pending: 900, oldestPendingAgeMs: 6 * MINUTE },
    { rates: rates(9, 3), change: { ...change, alsoMore: true } },
  );
  expect(both.cause).toBe('run p50 100 ms → 4 s since 11:53 UTC; more arrivals too');
});

const ranked = (name: string, severity: Severity, state: QueueState, harm: number) => ({
  name,
  verdict: { severity, state },
  harm,
});

describe('the order of queues', () => {
  it('is by severity, then harm, and a pause that somebody wants comes last', () => {
    const queues = [
      ranked('paused', 'warning', 'paused', 9_000),
      ranked('few', 'warning', 'failing', 4),
      ranked('many', 'warning', 'late', 900),
      ranked('well', 'ok', 'flowing', 9_000),
      ranked('bad', 'critical', 'failing', 40),
    ];
    expect(queues.toSorted(worstFirst).map(({ name }) => name)).toEqual(['bad', 'many', 'few', 'paused', 'well']);
  });

  it('has a queue that fails with many dead letters beside a stuck one, and begins with that', () => {
    const found = judge({ failed: 40 }, { lastHour: { died: 40, ended: 46 }, diedLately: 30 });
    expect(found).toMatchObject({ severity: 'critical', state: 'failing' });
    expect(found.summary).toMatch(/^failing: 87 % of the jobs of the last hour died, 40; /);
    expect(harmOf({ queue: 'email', stats: { ...QUIET, failed: 40 }, diedLately: 30 })).toBe(30);
  });
});

describe('the verdict on schedules', () => {
  it.each<[string, Partial<ScheduleRecord>, string]>([
    [
      'whose code runs nowhere',
      { everyMs: 6 * MINUTE, ...since(60 * MINUTE) },
      'late: schedule `hourly` should have run 1 h ago, 11 runs missed',
    ],
    ['that a deploy interrupts', { everyMs: 1_000, ...since(59_000) }, 'idle: nothing waits'],
    [
      'that is due again before its period is over',
      { everyMs: 1_440 * MINUTE, ...since(720 * MINUTE) },
      'idle: nothing waits',
    ],
  ])('one %s', (_, signs, summary) => {
    expect(judge({}, { schedules: [schedule(signs)] }).summary).toBe(summary);
  });

  it('names the cause and the next step', () => {
    expect(judge({}, { schedules: [schedule(since(61 * MINUTE))] })).toMatchObject({
      severity: 'warning',
      cause: 'no running process has the code of `hourly`',
      next: 'start a process with its code; if that is gone for good, remove the schedule',
    });
  });

  it('tells a run that hangs, by its time or by three skips', () => {
    const judged = (runs: ReturnType<typeof run>[], usualRunMs?: number) =>
      judge({ processing: 1 }, { schedules: [schedule({ runs })], ...(usualRunMs && { usualRunMs }) }).summary;
    expect(judged([run(1, 'kept'), run(2, 'kept'), run(3, 'kept'), run(4, 'processing')])).toBe(
      'late: a run of schedule `hourly` runs for 4 min, 3 runs skipped since',
    );
    expect(judged([run(4, 'processing')], 4_000)).toBe(
      'late: a run of schedule `hourly` runs for 4 min, usually 4 s',
    );
    expect(judged([run(1, 'kept'), run(4, 'processing')], 60_000)).toBe('flowing: 1 running');
    expect(judged([run(1, 'completed')], 4_000)).toBe('flowing: 1 running');
  });
});

it.each<[string, Partial<QueueStats>, Partial<QueueSigns>, string]>([
  ['on an idle queue', {}, {}, 'idle: nothing waits'],
  ['on an idle queue without a worker', { workers: 0 }, {}, 'idle: nothing waits'],
  ['on dead letters of long ago', { failed: 40 }, {}, 'idle: nothing waits, 40 dead letters'],
  ['on a job that is scheduled for later', { workers: 0, scheduled: 1 }, {}, 'idle: nothing waits'],
  [
    'while a deploy replaces the worker',
    { workers: 0, pending: 3, oldestPendingAgeMs: 4_000 },
    {},
    'flowing: 3 waiting, the oldest for 4 s',
  ],
  [
    'on a burst',
    { pending: 1_204, processing: 20, oldestPendingAgeMs: 9_000 },
    { rates: rates(300, 40) },
    'flowing: 1,204 waiting, the oldest for 9 s, 20 running',
  ],
  [
    'on a burst that is worked off, however long it takes',
    { pending: 9_000, processing: 20, oldestPendingAgeMs: 4 * MINUTE },
    { rates: { ...rates(60, 40), growing: false } },
    'flowing: 9,000 waiting, the oldest for 4 min, 20 running',
  ],
  [
    'on a backlog that shrinks, which tells when it has drained',
    { pending: 9_000, processing: 20, oldestPendingAgeMs: 4 * MINUTE },
    { rates: rates(40, 45) },
    'flowing: 9,000 waiting, the oldest for 4 min, 20 running; drains in about 30 min',
  ],
  [
    'under a rate that has not earned the dearest job yet',
    { pending: 3, oldestPendingAgeMs: 119 * MINUTE, oldestUnheldAgeMs: MINUTE },
    { rates: rates(0, 0), rateLimit: { limit: 1, periodMs: 60 * MINUTE } },
    'flowing: 3 waiting, the oldest for 2 h, held back by its group',
  ],
  [
    'where one paused group has the oldest job',
    { pending: 5, oldestPendingAgeMs: 4 * 60 * MINUTE, oldestUnheldAgeMs: 2 },
    { rates: rates(0, 0) },
    'flowing: 5 waiting, the oldest for 4 h, held back by its group',
  ],
  ['on steady work', { processing: 4 }, { rates: rates(12, 12) }, 'flowing: 4 running'],
  ['on a few failures', { processing: 1 }, { rates: rates(0.01, 0.01, 1) }, 'flowing: 1 running'],
  [
    "on a long queue that the pattern's clients work on",
    { workers: 0, processing: 2, foreignClaims: 2, pending: 5, oldestPendingAgeMs: 20_000 },
    {},
    'flowing: 5 waiting, the oldest for 20 s, 2 running',
  ],
])('the verdict is quiet %s', (_, stats, signs, summary) => {
  expect(judge(stats, signs)).toEqual({ queue: 'email', severity: 'ok', state: expect.any(String), summary });
});

describe('the verdict notes dead letters that the cap deleted', () => {
  const droppedAt = new Date(AT.getTime() - 5 * MINUTE);
  const stats = { failed: 10_000, totals: { dropped: 40_000 }, droppedAt };

  it.each<[string, Partial<QueueStats>, string]>([
    ['idle', {}, 'idle: nothing waits, 10,000 dead letters'],
    ['flowing', { processing: 4 }, 'flowing: 4 running, 10,000 dead letters'],
  ])('of a queue that is %s', (state, more, summary) => {
    expect(judge({ ...stats, ...more })).toMatchObject({
      severity: 'notice',
      state,
      summary: `${summary}; \`deadLetterCap\` deleted 40,000, the last 5 min ago`,
      cause: expect.stringContaining('the oldest are deleted with their payloads'),
      next: expect.stringContaining('raise `deadLetterCap`'),
    });
  });

  it('until a day later', () => {
    const longAgo = new Date(AT.getTime() - 25 * 60 * MINUTE);
    expect(judge({ ...stats, droppedAt: longAgo })).toMatchObject({ severity: 'ok' });
  });
});

/** Returns the parts of a verdict. */
const says = (severity: Severity, state: QueueState, summary?: string) => ({
  severity,
  state,
  ...(summary !== undefined && { summary }),
});

it.each<[string, Partial<QueueStats>, Partial<QueueSigns>, object]>([
  [
    'that nobody serves the queue',
    { workers: 0, pending: 1_204, oldestPendingAgeMs: 6 * MINUTE },
    {},
    says('critical', 'stuck', 'stuck: 1,204 waiting for 6 min, no worker'),
  ],
  [
    'which name nobody handles',
    { pending: 2, oldestPendingAgeMs: MINUTE },
    { unserved: [unserved('emial')] },
    says('critical', 'stuck', 'stuck: jobs named `emial` have waited for 1 min, no worker handles them'),
  ],
  [
    'which name nobody handles, while the others flow',
    { pending: 1_204, processing: 20, oldestPendingAgeMs: 6 * MINUTE, oldestUnheldAgeMs: 0 },
    { unserved: [{ name: 'emial', waitingMs: 6 * MINUTE }], rates: { ...rates(40, 40), growing: false } },
    says('warning', 'waiting', 'flowing, but jobs named `emial` have waited for 6 min, no worker handles them'),
  ],
  [
    'that it is paused, and since when',
    { pending: 5, pausedAt: new Date(AT.getTime() - 3 * MINUTE) },
    {},
    says('warning', 'paused', 'paused for 3 min: 5 waiting'),
  ],
  [
    'who paused it, and why',
    { pending: 5, pausedAt: AT, pausedBy: 'ada', pauseReason: 'the provider is down' },
    {},
    {
      ...says('warning', 'paused', 'paused by ada for 0 ms (the provider is down): 5 waiting'),
      cause: expect.stringMatching(
        /^the queue was paused by ada at \w{3} \d+ \w{3} \d{4}, \d\d:\d\d(:\d\d)? UTC: the provider is down$/,
      ),
    },
  ],
  ['that an empty queue is paused', { pausedAt: AT }, {}, says('notice', 'paused')],
  [
    'that dead workers keep their jobs',
    { processing: 3, expiredClaims: 3 },
    { sinceMaintenanceMs: 10 * MINUTE },
    says('critical', 'unmaintained', 'stuck: 3 jobs of dead workers are not reclaimed'),
  ],
  [
    'that no process maintains the queue',
    { processing: 3 },
    { sinceMaintenanceMs: 10 * MINUTE },
    says('warning', 'unmaintained'),
  ],
  [
    'until when a rate limit holds it back',
    { pending: 60 },
    { nextStartAt: new Date(AT.getTime() + 5_000) },
    says('notice', 'limited', 'limited by its rate: 60 wait, the next may start in 5 s'),
  ],
  [
    'that as many run as may',
    { pending: 60, processing: 2, oldestPendingAgeMs: MINUTE },
    { maxRunning: 2 },
    says('notice', 'limited', 'limited: 2 run, as many as may; 60 waiting for 1 min'),
  ],
  [
    'that all groups whose jobs wait are held back',
    { pending: 12, heldByGroups: 12, oldestPendingAgeMs: 2 * MINUTE, oldestUnheldAgeMs: 0 },
    { rates: rates(0, 0) },
    says('notice', 'limited', 'limited: 12 waiting for 2 min in groups that may start none now'),
  ],
  [
    'that its workers take nothing, where jobs wait beside those of groups',
    { pending: 12, heldByGroups: 11, oldestPendingAgeMs: 2 * MINUTE },
    { rates: rates(0, 0) },
    says('critical', 'stuck'),
  ],
  [
    'that it falls behind',
    { pending: 900, processing: 9, oldestPendingAgeMs: 2 * MINUTE },
    { rates: rates(12, 7) },
    says(
      'warning',
      'falling-behind',
      'falling behind: 12/s in, 7/s out, 900 waiting for 2 min; at this pace it never drains',
    ),
  ],
  [
    'that its handlers fail',
    { failed: 40 },
    { rates: rates(1, 1, 0.8) },
    says('warning', 'failing', 'failing: 80 % of the attempts of the last 5 min failed, 40 dead letters'),
  ],
  [
    'that its handlers fail, where all that failed is tried again',
    { scheduled: 40 },
    { rates: rates(1, 0, 1) },
    says('warning', 'failing', 'failing: 100 % of the attempts of the last 5 min failed'),
  ],
  [
    'that its handlers failed, and nothing of it is left in the queue',
    {},
    { rates: rates(1, 1, 0.8) },
    {
      ...says('warning', 'failing'),
      next: 'read the errors in the log of the workers: no failed job is left in the queue',
    },
  ],
  [
    'that its workers take nothing',
    { pending: 9, oldestPendingAgeMs: 2 * MINUTE },
    { rates: rates(0, 0) },
    says('critical', 'stuck', 'stuck: 9 waiting for 2 min, its 2 workers take nothing'),
  ],
  [
    'that a rate lets nothing start, whatever it says of the next start',
    { pending: 9, oldestPendingAgeMs: 2 * MINUTE },
    {
      rates: rates(0, 0),
      rateLimit: { limit: 30, periodMs: 1_000 },
      nextStartAt: new Date(AT.getTime() + 33),
    },
    says(
      'critical',
      'stuck',
      'stuck: 9 waiting for 2 min, nothing starts although its rate limit lets 30 in 1 s start',
    ),
  ],
  [
    'that jobs wait, where no history says whether they are worked off',
    { pending: 9, processing: 10, oldestPendingAgeMs: 2 * MINUTE },
    {},
    says('notice', 'waiting', 'slow: 9 waiting for 2 min, 10 running'),
  ],
  [
    'that nothing runs, where no history says since when',
    { workers: 1, pending: 9, oldestPendingAgeMs: 2 * MINUTE },
    {},
    says('warning', 'stuck', 'stuck: 9 waiting for 2 min, its worker takes nothing'),
  ],
  [
    'that scheduled jobs are due, and nobody serves the queue',
    { workers: 0, scheduled: 3, oldestPendingAgeMs: 6 * MINUTE },
    {},
    says('critical', 'stuck', 'stuck: scheduled jobs have been due for 6 min, no worker'),
  ],
  [
    'that scheduled jobs are due, and its workers take nothing',
    { scheduled: 3, oldestPendingAgeMs: 2 * MINUTE },
    { rates: rates(0, 0) },
    says('critical', 'stuck', 'stuck: scheduled jobs have been due for 2 min, its 2 workers take nothing'),
  ],
  [
    'that handlers which do not end keep all slots',
    { pending: 9, oldestPendingAgeMs: MINUTE },
    { slots: 2, stuckSlots: 2 },
    says('critical', 'stuck', 'stuck: 9 waiting for 1 min, 2 of 2 slots are kept by handlers that do not end'),
  ],
  [
    'that handlers which do not end keep all slots that maxRunning leaves',
    { pending: 9, processing: 2, oldestPendingAgeMs: MINUTE },
    { slots: 10, stuckSlots: 2, maxRunning: 2 },
    says('critical', 'stuck', 'stuck: 9 waiting for 1 min, 2 of 2 slots are kept by handlers that do not end'),
  ],
  [
    'that handlers which do not end keep some slots',
    { pending: 9, processing: 8, oldestPendingAgeMs: 2 * MINUTE },
    { rates: rates(0, 0), slots: 10, stuckSlots: 2 },
    { ...says('warning', 'waiting'), cause: '2 of 10 slots are kept by handlers that do not end' },
  ],
  [
    'that jobs which take longer than usual hold up the others',
    { pending: 9, processing: 10, oldestPendingAgeMs: 2 * MINUTE },
    { rates: rates(0, 0), slots: 10, usualRunMs: 800 },
    { ...says('warning', 'waiting'), cause: 'all slots are busy' },
  ],
  [
    'that long jobs hold up the others, which alarms nobody',
    { pending: 9, processing: 10, oldestPendingAgeMs: 4 * MINUTE },
    { rates: rates(0, 0), slots: 10 },
    { ...says('notice', 'waiting'), cause: 'all slots are busy' },
  ],
  [
    'that no job has ended for long, of which nobody knows how long they take',
    { pending: 9, processing: 10, oldestPendingAgeMs: 40 * MINUTE },
    { rates: rates(0, 0), slots: 12 },
    { ...says('warning', 'waiting'), cause: 'the jobs that run take long' },
  ],
  [
    'that its workers take nothing, while more jobs come',
    { pending: 900, oldestPendingAgeMs: 2 * MINUTE },
    { rates: rates(5, 0) },
    says('critical', 'stuck', 'stuck: 900 waiting for 2 min, its 2 workers take nothing'),
  ],
  [
    'that all its workers are paused in their process',
    { pending: 900, oldestPendingAgeMs: 2 * MINUTE },
    { rates: rates(5, 0), pausedWorkers: 2 },
    { ...says('critical', 'stuck'), cause: 'all its workers are paused in their process' },
  ],
  [
    'which names nobody handles, of two',
    { pending: 2, oldestPendingAgeMs: MINUTE },
    { unserved: ['emial', 'smss'].map(unserved) },
    {
      severity: 'critical',
      summary: 'stuck: jobs named `emial` and 1 more name have waited for 1 min, no worker handles them',
    },
  ],
  [
    'which names nobody handles, of many',
    { pending: 2, oldestPendingAgeMs: MINUTE },
    { unserved: ['emial', 'smss', 'fxa'].map(unserved) },
    {
      severity: 'critical',
      summary: 'stuck: jobs named `emial` and 2 more names have waited for 1 min, no worker handles them',
    },
  ],
  [
    'that nobody serves the queue, where dead workers left claims',
    { workers: 0, processing: 3, pending: 12, oldestPendingAgeMs: 6 * MINUTE },
    { rates: rates(0, 0) },
    says('critical', 'stuck', 'stuck: 12 waiting for 6 min, no worker'),
  ],
  [
    'that a handler met a rate limit, and the queue rests',
    { pending: 60 },
    { restsUntil: new Date(AT.getTime() + 60_000), rateLimit: { limit: 10, periodMs: 1_000 } },
    {
      ...says('notice', 'limited', 'resting: 60 wait for another 1 min'),
      cause: 'a handler threw a RateLimitedError, or Redis refused its calls, so the whole queue rests',
      next: 'wait for its end; clearing the limits of `email` ends it now',
    },
  ],
  [
    'that more comes than its rate lets start',
    { pending: 900, processing: 1, oldestPendingAgeMs: 2 * MINUTE },
    { rates: rates(12, 10), rateLimit: { limit: 10, periodMs: 1_000 }, slots: 20 },
    {
      ...says('warning', 'limited', 'limited by its rate: 12/s in, 10/s may start, 900 waiting for 2 min'),
      cause: 'the queue has used up its rate limit of 10/s',
      next: 'raise the rate limit if this is too slow',
    },
  ],
  [
    'that a burst waits for its rate',
    { pending: 900, processing: 1, oldestPendingAgeMs: 2 * MINUTE },
    { rates: { ...rates(12, 10), growing: false }, rateLimit: { limit: 10, periodMs: 1_000 }, slots: 20 },
    says('notice', 'limited'),
  ],
  [
    'that its rate holds it back, where jobs cost more than one',
    { pending: 900, processing: 1, oldestPendingAgeMs: 2 * MINUTE },
    {
      rates: { ...rates(12, 2), growing: false },
      rateLimit: { limit: 10, periodMs: 1_000 },
      nextStartAt: new Date(AT.getTime() + 400),
      slots: 20,
    },
    { ...says('notice', 'limited'), cause: 'the queue has used up its rate limit of 10/s' },
  ],
  [
    'that its workers are too slow, and not its rate',
    { pending: 900, processing: 20, oldestPendingAgeMs: 2 * MINUTE },
    {
      rates: rates(12, 2),
      rateLimit: { limit: 10, periodMs: 1_000 },
      nextStartAt: new Date(AT.getTime() + 50),
      slots: 20,
    },
    { ...says('warning', 'falling-behind'), next: 'add workers, or raise the concurrency' },
  ],
  [
    'that more comes than maxRunning lets through',
    { pending: 9_000, processing: 2, oldestPendingAgeMs: 60 * MINUTE },
    { maxRunning: 2, rates: rates(12, 7) },
    { ...says('warning', 'limited'), cause: 'maxRunning is 2' },
  ],
  [
    'that its handlers fail, while as many run as may',
    { failed: 40, pending: 60, processing: 2, oldestPendingAgeMs: MINUTE },
    { maxRunning: 2, rates: { ...rates(1, 1, 0.8), growing: false } },
    says('warning', 'failing'),
  ],
  [
    'that as many run as may, and longer than usual',
    { pending: 60, processing: 2, oldestPendingAgeMs: 2 * MINUTE },
    { maxRunning: 2, rates: { ...rates(0, 0), growing: false }, usualRunMs: 200 },
    { ...says('warning', 'waiting'), cause: 'all slots are busy' },
  ],
  [
    'that dead workers keep their jobs, while it is paused',
    { pending: 5, pausedAt: AT, processing: 3, expiredClaims: 3 },
    { sinceMaintenanceMs: 10 * MINUTE },
    says('critical', 'unmaintained'),
  ],
])('the verdict says %s', (_, stats, signs, verdict) => {
  const found = judge(stats, signs);
  expect(found).toMatchObject({ queue: 'email', ...verdict });
  expect(found.cause).toEqual(expect.any(String));
  expect(found.next).toEqual(expect.any(String));
});

it('the worst of several verdicts', () => {
  expect(worstOf([])).toBe('ok');
  expect(worstOf([{ severity: 'notice' }, { severity: 'critical' }, { severity: 'ok' }])).toBe('critical');
});

describe('the severity never falls when a sign is added that is worse', () => {
  /** The reasons why jobs may wait: each can occur with each other, and with each trouble. */
  const excuses: readonly Change[] = [
    { stats: { processing: 0 } },
    { stats: { pausedAt: AT } },
    { stats: { heldByGroups: 900, oldestUnheldAgeMs: 0 } },
    { stats: { foreignClaims: 2, processing: 2 } },
    { signs: { restsUntil: new Date(AT.getTime() + MINUTE) } },
    { signs: { rateLimit: { limit: 1, periodMs: MINUTE }, nextStartAt: new Date(AT.getTime() + MINUTE) } },
    { signs: { maxRunning: 2 } },
    { signs: { rates: rates(5, 5) } },
    { signs: { usualRunMs: 800 } },
  ];
  const troubles: readonly Change[] = [
    { stats: { workers: 0 } },
    { stats: { expiredClaims: 3 } },
    { stats: { failed: 40 } },
    { signs: { unserved: [unserved('emial')] } },
    { signs: { sinceMaintenanceMs: 10 * MINUTE } },
    { signs: { stuckSlots: 10 } },
    { signs: { pausedWorkers: 2 } },
    { rates: { growing: true } },
    { rates: { failedShare: 1, attempts: 900 } },
    { rates: { out: 0 } },
  ];

  const keyOf = (some: readonly Change[]) => troubles.map((each) => Number(some.includes(each))).join('');

  it.each(
    someOf(
      subsets(excuses).filter(({ length }) => length < 3),
      4,
    ).map((some): [string, readonly Change[]] => [JSON.stringify(some), some]),
  )('beside %s', (_, held) => {
    const start = held.reduce(changed, {
      queue: 'email',
      at: AT,
      slots: 10,
      stats: {
        ...QUIET,
        pending: 900,
        processing: 2,
        oldestPendingAgeMs: 2 * MINUTE,
        oldestUnheldAgeMs: 2 * MINUTE,
      },
    });
    const sets = subsets(troubles);
    const found = new Map(sets.map((some) => [keyOf(some), verdictOf(some.reduce(changed, start))]));
    const falls = sets.flatMap((some) =>
      troubles
        .map((one) => ({
          some,
          one,
          before: found.get(keyOf(some.filter((each) => each !== one)))!,
          after: found.get(keyOf([...new Set([...some, one])]))!,
        }))
        .filter(({ before, after }) => worstOf([before, after]) !== after.severity),
    );
    expect(falls).toEqual([]);
  });
});

interface Change {
  stats?: Partial<QueueStats>;
  signs?: Partial<QueueSigns>;
  /** Holds only where there are rates. */
  rates?: Partial<RecentRates>;
}

function changed(signs: QueueSigns, change: Change): QueueSigns {
  return {
    ...signs,
    ...change.signs,
    ...(change.rates && signs.rates && { rates: { ...signs.rates, ...change.rates } }),
    stats: { ...signs.stats, ...change.stats },
  };
}

function subsets<Each>([first, ...others]: readonly Each[]): Each[][] {
  if (first === undefined) {
    return [[]];
  }
  return subsets(others).flatMap((some) => [some, [first, ...some]]);
}

describe('a limit that somebody set by hand', () => {
  const limited = {
    ...QUIET,
    pending: 9_000,
    processing: 2,
    oldestPendingAgeMs: 60_000,
    oldestUnheldAgeMs: 60_000,
  };
  const at = new Date('2026-01-01T12:00:00Z');
  const ago = (hours: number) => new Date(at.getTime() - hours * 3_600_000);
  const limitsSet = [
    { by: 'bob', at: ago(1), what: 'the queue: rateLimit {"limit":9,"periodMs":1000}' },
    { by: 'ada', at: ago(2), what: 'the queue: maxRunning 2' },
  ];

  it('names who set it and when', () => {
    const found = verdictOf({ queue: 'email', stats: limited, at, maxRunning: 2, limitsSet });
    expect(found.cause).toBe('maxRunning is 2, set by ada 2 h ago');
  });

  it.each([
    [{ maxRunning: 50 }, '50'],
    [{}, 'none'],
  ])('says what the code says: %j', (configured, words) => {
    const signs = { queue: 'email', stats: limited, at, limitsSet, configured };
    expect(verdictOf({ ...signs, maxRunning: 2 }).cause).toBe(
      `maxRunning is 2, set by ada 2 h ago; the code says ${words}`,
    );
    const rateLimit = { limit: 9, periodMs: 1_000 };
    const nextStartAt = new Date(at.getTime() + 60_000);
    expect(verdictOf({ ...signs, rateLimit, nextStartAt }).cause).toMatch(
      /, set by bob 1 h ago; the code says none$/,
    );
  });

  it('or the deepest of the groups that hold jobs back', () => {
    const held = { ...limited, heldByGroups: 9_000 };
    const waitingGroups = [{ name: 'acme', pending: 4_871 }];
    const found = verdictOf({ queue: 'email', stats: held, at, waitingGroups });
    expect(found.summary).toContain('in groups that may start none now (acme: 4,871 wait)');
  });
});
