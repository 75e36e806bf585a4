// Each rule at its bounds. A row has signs of which the rule says nothing, and the nearest ones of which it speaks.
import { expect, it } from '@jest/globals';
import * as flow from '#inspect/verdict.js';
import * as limits from '#inspect/limit-rules.js';
import type { QueueSigns, RecentRates } from '#inspect/queue-signs.js';
import { drainsInMs, drainsNowInMs, isBusy, isLate, type Rule } from '#inspect/rule.js';
import * as shared from '#inspect/limit-rules.js';
import * as stuck from '#inspect/stuck-rules.js';
import type { QueueStats } from '#queue/model/job.js';
import { NO_STATS } from '../support/queue/no-stats.js';

const AT = new Date('2026-01-01T12:00:00Z');
const MINUTE = 60_000;
const at = (ms: number) => new Date(AT.getTime() + ms);

type Signs = Partial<Omit<QueueSigns, 'stats'>> & { stats?: Partial<QueueStats> };

function signsOf({ stats = {}, ...signs }: Signs): QueueSigns {
  const { oldestPendingAgeMs: oldestUnheldAgeMs = 0 } = stats;
  return {
    queue: 'mail',
    at: AT,
    ...signs,
    stats: { ...NO_STATS, at: AT, workers: 2, oldestUnheldAgeMs, ...stats },
  };
}

const waiting = (oldestPendingAgeMs: number, more: Partial<QueueStats> = {}) => ({
  stats: { pending: 40, oldestPendingAgeMs, ...more },
});
const awaitedKeys = {
  groups: 1,
  jobs: 40,
  keys: [
    { name: 'crm', source: 'set' as const, rateLimit: [], running: 1, holders: [], waiting: ['mail'], queues: [] },
  ],
};
const rates = (inRate: number, out: number, more: Partial<RecentRates> = {}): RecentRates => ({
  windowMs: 5 * MINUTE,
  in: inRate,
  out,
  failedShare: 0,
  attempts: out * 300,
  growing: false,
  ...more,
});
const pace = (inPerS: number, outPerS: number) => ({ inPerS, outPerS, failedPerS: 0 });
const ended = (out: number, attempts: number) => ({ rates: rates(0, out, { attempts }) });
const lastHour = (died: number, of: number) => ({ lastHour: { died, ended: of } });
const perMinute = { limit: 60, periodMs: MINUTE, burst: 1 };

it.each<[what: string, rule: Rule, quiet: Signs, speaks: Signs]>([
  [
    'a rest that has just ended',
    limits.resting,
    { ...waiting(0), restsUntil: at(0) },
    { ...waiting(0), restsUntil: at(1) },
  ],
  ['a rest without jobs', limits.resting, { restsUntil: at(1) }, { ...waiting(0), restsUntil: at(1) }],
  [
    'a rest of a paused queue',
    limits.resting,
    { ...waiting(0, { pausedAt: AT }), restsUntil: at(1) },
    { ...waiting(0), restsUntil: at(1) },
  ],
  // A minute, and twice the time until a burst of 30 is earned: two minutes.
  [
    'a rate that gives nothing for less than its longest time',
    limits.givesNothing,
    { ...waiting(2 * MINUTE), rateLimit: { ...perMinute, burst: 30 } },
    { ...waiting(2 * MINUTE + 1), rateLimit: { ...perMinute, burst: 30 } },
  ],
  [
    'a rate during a rest',
    limits.givesNothing,
    { ...waiting(9 * MINUTE), rateLimit: perMinute, restsUntil: at(1) },
    { ...waiting(9 * MINUTE), rateLimit: perMinute, restsUntil: at(0) },
  ],
  [
    'a rate whose next start is near',
    limits.rateLimited,
    { ...waiting(0), nextStartAt: at(1_000) },
    { ...waiting(0), nextStartAt: at(1_001) },
  ],
  [
    'a rate of which no job waits',
    limits.rateLimited,
    { nextStartAt: at(5_000) },
    { ...waiting(0), nextStartAt: at(5_000) },
  ],
  [
    'a rate of a paused queue',
    limits.rateLimited,
    { ...waiting(0, { pausedAt: AT }), nextStartAt: at(5_000) },
    { ...waiting(0), nextStartAt: at(5_000) },
  ],
  [
    'a rate of which less than nine tenths are used',
    limits.rateLimited,
    { ...waiting(11_000), rateLimit: perMinute, ...ended(0.9, 269) },
    { ...waiting(11_000), rateLimit: perMinute, ...ended(0.9, 270) },
  ],
  [
    'a used rate of jobs that wait for ten seconds',
    limits.rateLimited,
    { ...waiting(10_000), rateLimit: perMinute, ...ended(1, 300) },
    { ...waiting(10_001), rateLimit: perMinute, ...ended(1, 300) },
  ],
  [
    'a limit that one more may use',
    limits.full,
    { ...waiting(11_000, { processing: 3 }), maxRunning: 4 },
    { ...waiting(11_000, { processing: 4 }), maxRunning: 4 },
  ],
  [
    'a full queue in which none waits for long',
    limits.full,
    { ...waiting(10_000, { processing: 4 }), maxRunning: 4 },
    { ...waiting(10_001, { processing: 4 }), maxRunning: 4 },
  ],
  [
    'a full queue that is paused',
    limits.full,
    { ...waiting(11_000, { processing: 4, pausedAt: AT }), maxRunning: 4 },
    { ...waiting(11_000, { processing: 4 }), maxRunning: 4 },
  ],
  [
    'keys that hold less than half of the jobs',
    shared.heldByKeys,
    { ...waiting(11_000, { awaitingPermit: 19 }), awaitedKeys },
    { ...waiting(11_000, { awaitingPermit: 20 }), awaitedKeys },
  ],
  [
    'workers that take nothing while most jobs wait for keys',
    stuck.takesNothing,
    waiting(61_000, { awaitingPermit: 20 }),
    waiting(61_000, { awaitingPermit: 19 }),
  ],
  [
    'keys of a queue in which none waits for long',
    shared.heldByKeys,
    { ...waiting(10_000, { awaitingPermit: 40 }), awaitedKeys },
    { ...waiting(10_001, { awaitingPermit: 40 }), awaitedKeys },
  ],
  [
    'groups that hold all jobs but one',
    limits.heldByGroups,
    waiting(11_000, { heldByGroups: 39 }),
    waiting(11_000, { heldByGroups: 40 }),
  ],
  [
    'groups that hold no job',
    limits.heldByGroups,
    { stats: { pending: 0, heldByGroups: 0, scheduled: 1, oldestPendingAgeMs: 11_000 } },
    waiting(11_000, { heldByGroups: 40 }),
  ],
  [
    'attempts of which nearly half failed',
    flow.failing,
    { rates: rates(1, 1, { failedShare: 0.49 }) },
    { rates: rates(1, 1, { failedShare: 0.5 }) },
  ],
  [
    'nine failed attempts',
    flow.failing,
    { rates: rates(1, 1, { failedShare: 1, attempts: 9 }) },
    { rates: rates(1, 1, { failedShare: 1, attempts: 10 }) },
  ],
  [
    'a queue that falls behind for a minute',
    flow.behind,
    { ...waiting(MINUTE), rates: rates(2, 1, { growing: true }) },
    { ...waiting(MINUTE + 1), rates: rates(2, 1, { growing: true }) },
  ],
  [
    'a backlog of a minute that drains',
    flow.draining,
    { ...waiting(MINUTE), pace: pace(1, 9) },
    { ...waiting(MINUTE + 1), pace: pace(1, 9) },
  ],
  ['a long run with no job that runs', flow.slow, waiting(2 * MINUTE), waiting(2 * MINUTE, { processing: 1 })],
  [
    'a long run while others end',
    flow.slow,
    { ...waiting(2 * MINUTE, { processing: 1 }), rates: rates(0, 0.01) },
    { ...waiting(2 * MINUTE, { processing: 1 }), rates: rates(1, 0) },
  ],
  [
    'a long run while others end, before there are rates',
    flow.slow,
    { ...waiting(2 * MINUTE, { processing: 1 }), hasEnded: true },
    { ...waiting(2 * MINUTE, { processing: 1 }), hasEnded: false },
  ],
  ['a long run of a minute', flow.slow, waiting(MINUTE, { processing: 1 }), waiting(MINUTE + 1, { processing: 1 })],
  [
    'no death in the last hour',
    flow.dying,
    { stats: { failed: 5 }, ...lastHour(0, 9) },
    { stats: { failed: 5 }, ...lastHour(1, 9) },
  ],
  [
    'deaths that were redriven',
    flow.dying,
    { stats: { failed: 0 }, ...lastHour(3, 9) },
    { stats: { failed: 1 }, ...lastHour(3, 9) },
  ],
  [
    'a deletion of more than a day ago',
    flow.dropped,
    { stats: { droppedAt: at(-86_400_001) } },
    { stats: { droppedAt: at(-86_400_000) } },
  ],
  [
    'fewer remembered ids than four fifths of the bound',
    flow.remembering,
    { stats: { rememberedIds: { count: 79, bound: 100 } } },
    { stats: { rememberedIds: { count: 80, bound: 100 } } },
  ],
])('a rule is quiet about %s', (_what, rule, quiet, speaks) => {
  expect(rule(signsOf(quiet))).toBeUndefined();
  expect(rule(signsOf(speaks))).toBeDefined();
});

const held = waiting(9 * MINUTE);
it.each<[what: string, rule: Rule, signs: Signs, severity: string]>([
  ['a limit while the backlog shrinks', limits.full, { ...held, maxRunning: 0, rates: rates(1, 1) }, 'notice'],
  [
    'a limit while the backlog grows',
    limits.full,
    { ...held, maxRunning: 0, rates: rates(2, 1, { growing: true }) },
    'warning',
  ],
  [
    'a limit while a backlog of a minute grows',
    limits.full,
    { ...waiting(MINUTE), maxRunning: 0, rates: rates(2, 1, { growing: true }) },
    'notice',
  ],
  [
    'a failing queue with 19 deaths',
    flow.failing,
    { stats: { failed: 1 }, rates: rates(1, 1, { failedShare: 1 }), ...lastHour(19, 20) },
    'warning',
  ],
  [
    'a failing queue with 20 deaths',
    flow.failing,
    { stats: { failed: 1 }, rates: rates(1, 1, { failedShare: 1 }), ...lastHour(20, 20) },
    'critical',
  ],
  [
    'a failing queue whose deaths were redriven',
    flow.failing,
    { rates: rates(1, 1, { failedShare: 1 }), ...lastHour(20, 20) },
    'warning',
  ],
  ['19 deaths of 19', flow.dying, { stats: { failed: 19 }, ...lastHour(19, 19) }, 'notice'],
  ['20 deaths of 201', flow.dying, { stats: { failed: 20 }, ...lastHour(20, 201) }, 'notice'],
  ['20 deaths of 200', flow.dying, { stats: { failed: 20 }, ...lastHour(20, 200) }, 'warning'],
  ['20 deaths of 41', flow.dying, { stats: { failed: 20 }, ...lastHour(20, 41) }, 'warning'],
  ['20 deaths of 40', flow.dying, { stats: { failed: 20 }, ...lastHour(20, 40) }, 'critical'],
  [
    'a long run of unknown length',
    flow.slow,
    { ...waiting(30 * MINUTE, { processing: 1 }), rates: rates(1, 0) },
    'notice',
  ],
  [
    'a run of over half an hour',
    flow.slow,
    { ...waiting(30 * MINUTE + 1, { processing: 1 }), rates: rates(1, 0) },
    'warning',
  ],
  [
    'a long run of a known length',
    flow.slow,
    { ...waiting(2 * MINUTE, { processing: 1 }), rates: rates(1, 0), usualRunMs: 9 },
    'warning',
  ],
  [
    'a long run of a stuck slot',
    flow.slow,
    { ...waiting(2 * MINUTE, { processing: 1 }), rates: rates(1, 0), stuckSlots: 1 },
    'warning',
  ],
  ['a long run before there are rates', flow.slow, { ...waiting(40 * MINUTE, { processing: 1 }) }, 'notice'],
])('%s has its severity', (_what, rule, signs, severity) => {
  expect(rule(signsOf(signs))?.severity).toBe(severity);
});

it.each<[what: string, signs: Signs, late: boolean]>([
  ['at its own limit', waiting(15_000, { lateAfterMs: 15_000 }), false],
  ['beyond its own limit', waiting(15_001, { lateAfterMs: 15_000 }), true],
  ['at ten times its usual wait', { ...waiting(100_000), usualWaitMs: 10_000 }, false],
  ['beyond ten times its usual wait', { ...waiting(100_001), usualWaitMs: 10_000 }, true],
  ['at three times its usual run time', { ...waiting(9_000 * 1_000), usualRunMs: 3_000_000 }, false],
  ['beyond three times its usual run time', { ...waiting(9_000 * 1_000 + 1), usualRunMs: 3_000_000 }, true],
])('a queue %s is late or not', (_what, signs, late) => {
  expect(isLate(signsOf(signs))).toBe(late);
});

it.each<[Signs, boolean]>([
  [{ stats: { processing: 3 }, slots: 4 }, false],
  [{ stats: { processing: 4 }, slots: 4 }, true],
  [{ stats: { processing: 3 }, slots: 4, usedSlots: 4 }, true],
  [{ stats: { processing: 4 }, maxRunning: 5 }, false],
  [{ stats: { processing: 4 }, maxRunning: 4 }, true],
  [{ stats: { processing: 4 } }, false],
])('a queue with %j is busy: %s', (signs, busy) => {
  expect(isBusy(signsOf(signs))).toBe(busy);
});

it.each<[Signs, inMs: number | undefined, nowMs: number | undefined]>([
  [{ ...waiting(2 * MINUTE), rates: rates(1, 3) }, 20_000, undefined],
  [{ ...waiting(2 * MINUTE), rates: rates(100, 101) }, undefined, undefined],
  [{ ...waiting(2 * MINUTE), rates: rates(2, 1, { growing: true }) }, Infinity, undefined],
  [{ ...waiting(2 * MINUTE, { lateAfterMs: MINUTE }), rates: rates(1, 1) }, Infinity, undefined],
  [{ ...waiting(MINUTE), rates: rates(1, 3) }, undefined, undefined],
  [waiting(2 * MINUTE), undefined, undefined],
  // The pace of the last seconds holds if it is more than three times that of the last minutes.
  [{ ...waiting(2 * MINUTE), rates: rates(1, 3), pace: pace(1, 9) }, 20_000, 5_000],
  [{ ...waiting(2 * MINUTE), rates: rates(1, 3), pace: pace(1, 11) }, 4_000, 4_000],
  [{ ...waiting(2 * MINUTE), rates: rates(1, 1), pace: pace(10, 8.9) }, Infinity, undefined],
  [{ ...waiting(2 * MINUTE), rates: rates(1, 1), pace: pace(10, 9) }, undefined, undefined],
  [{ rates: rates(1, 1), pace: pace(1, 9) }, undefined, undefined],
])('a backlog with %j drains in %s ms, and by the last seconds in %s ms', (signs, inMs, nowMs) => {
  expect([drainsInMs(signsOf(signs)), drainsNowInMs(signsOf(signs))]).toEqual([inMs, nowMs]);
});

it.each([
  [{}, /^limited by its rate: 1\/s may start, 40 waiting for 9 min$/],
  [{ ...ended(1, 300) }, /^limited by its rate: 0\/s in, 1\/s may start, /],
  [{ nextStartAt: at(90_000) }, /^limited by its rate: 40 wait, the next may start in 1\.5 min$/],
])('says how many a rate lets start, with %j', (more, words) => {
  const signs = signsOf({ ...held, rateLimit: perMinute, nextStartAt: at(500), slots: 9, ...more });
  expect(limits.rateLimited(signs)?.summary).toMatch(words);
});

it.each([
  [{}, 'maxRunning is 0, set at run time'],
  [{ configured: { maxRunning: 1_204 } }, 'maxRunning is 0, set at run time; the code says 1,204'],
  [{ configured: {} }, 'maxRunning is 0, set at run time; the code says none'],
])('says who set a limit and what the code says: %j', (more, cause) => {
  expect(limits.full(signsOf({ ...held, maxRunning: 0, limitsSet: [], ...more }))?.cause).toBe(cause);
  const rated = { ...held, rateLimit: perMinute, nextStartAt: at(90_000), limitsSet: [] };
  const ofCode = limits.rateLimited(
    signsOf({ ...rated, configured: { rateLimit: { limit: 30, periodMs: MINUTE } } }),
  )?.cause;
  expect(ofCode).toMatch(/set at run time; the code says 30\/min$/);
});

const none = { workers: 0 };
const death = (how: string, ...names: string[]) => ({
  worker: `web-1:${how}`,
  how,
  jobs: names.length,
  ran: names.map((name) => ({ id: name, name })),
  at: AT,
});
const killed = (count: number, ...names: string[]) => ({
  deaths: Array.from({ length: count }, () => death('killed', ...names)),
});
const lost = (id: string, isUnchecked: boolean) => ({ batch: 'b', queue: 'pdf', id, isUnchecked });

it.each<[what: string, rule: Rule, quiet: Signs, speaks: Signs]>([
  ['jobs without a worker for ten seconds', stuck.noWorker, waiting(10_000, none), waiting(10_001, none)],
  [
    'a paused queue without a worker',
    stuck.noWorker,
    waiting(MINUTE, { ...none, pausedAt: AT }),
    waiting(MINUTE, none),
  ],
  [
    'clients of the pattern that serve it',
    stuck.noWorker,
    waiting(MINUTE, { ...none, foreignClaims: 1 }),
    waiting(MINUTE, { ...none, foreignClaims: 0 }),
  ],
  [
    'a name without a handler while the queue is paused',
    stuck.unserved,
    { stats: { pausedAt: AT }, unserved: [{ name: 'x', waitingMs: 1 }] },
    { unserved: [{ name: 'x', waitingMs: 1 }] },
  ],
  [
    'expired claims of a maintained queue',
    stuck.expired,
    { stats: { expiredClaims: 1 }, sinceMaintenanceMs: 0 },
    { stats: { expiredClaims: 1 }, sinceMaintenanceMs: 1 },
  ],
  [
    'an unmaintained queue without expired claims',
    stuck.expired,
    { sinceMaintenanceMs: 1 },
    { stats: { expiredClaims: 1 }, sinceMaintenanceMs: 1 },
  ],
  ['jobs that nobody takes for a minute', stuck.takesNothing, waiting(MINUTE), waiting(MINUTE + 1)],
  [
    'jobs that nobody takes while one runs',
    stuck.takesNothing,
    waiting(9 * MINUTE, { processing: 1 }),
    waiting(9 * MINUTE),
  ],
  [
    'jobs that nobody takes while others ended',
    stuck.takesNothing,
    { ...waiting(9 * MINUTE), rates: rates(0, 0.01) },
    { ...waiting(9 * MINUTE), rates: rates(1, 0) },
  ],
  [
    'slots of which one is free',
    stuck.stuckHandlers,
    { ...waiting(11_000), slots: 4, stuckSlots: 3 },
    { ...waiting(11_000), slots: 4, stuckSlots: 4 },
  ],
  [
    'kept slots of a paused queue',
    stuck.stuckHandlers,
    { ...waiting(11_000, { pausedAt: AT }), slots: 4, stuckSlots: 4 },
    { ...waiting(11_000), slots: 4, stuckSlots: 4 },
  ],
  [
    'kept slots for which no job waits',
    stuck.stuckHandlers,
    { slots: 4, stuckSlots: 4 },
    { ...waiting(11_000), maxRunning: 2, stuckSlots: 1, stuckJobs: 2, slots: 9 },
  ],
  [
    'kept slots for ten seconds',
    stuck.stuckHandlers,
    { ...waiting(10_000), slots: 4, stuckSlots: 4 },
    { ...waiting(10_001), slots: 4, stuckSlots: 4 },
  ],
  ['one death', stuck.crashing, killed(1, 'image'), killed(2, 'image')],
  [
    'a queue without maintenance in which nothing lives',
    stuck.maintained,
    { stats: none, sinceMaintenanceMs: 1 },
    { stats: { ...none, processing: 1 }, sinceMaintenanceMs: 1 },
  ],
])('a rule of stuck jobs is quiet about %s', (_what, rule, quiet, speaks) => {
  expect(rule(signsOf(quiet))).toBeUndefined();
  expect(rule(signsOf(speaks))).toBeDefined();
});

it.each<[rule: Rule, signs: Signs, found: object]>([
  [
    stuck.noWorker,
    waiting(MINUTE, { ...none, lastWorkerAt: at(-29_999) }),
    { severity: 'notice', state: 'waiting' },
  ],
  [
    stuck.noWorker,
    waiting(MINUTE, { ...none, lastWorkerAt: at(-30_000) }),
    { severity: 'critical', cause: 'no live worker serves `mail`; the last one was seen 30 s ago' },
  ],
  [stuck.noWorker, waiting(MINUTE, none), { severity: 'critical', cause: 'no live worker serves `mail`' }],
  [
    stuck.unserved,
    {
      unserved: [
        { name: 'x', waitingMs: 1 },
        { name: 'y', waitingMs: 2 },
      ],
    },
    { summary: 'stuck: jobs named `x` and 1 more name have waited for 1 ms, no worker handles them' },
  ],
  [
    stuck.unserved,
    { stats: { processing: 1 }, unserved: ['x', 'y', 'z'].map((name) => ({ name, waitingMs: 1 })) },
    {
      severity: 'warning',
      summary: 'flowing, but jobs named `x` and 2 more names have waited for 1 ms, no worker handles them',
    },
  ],
  [
    stuck.expired,
    { stats: { expiredClaims: 2 }, sinceMaintenanceMs: MINUTE },
    {
      summary: 'stuck: 2 jobs of dead workers are not reclaimed',
      cause: 'no process has maintained the queue for 1 min',
    },
  ],
  [
    stuck.crashing,
    killed(2, 'image', 'video'),
    {
      severity: 'warning',
      summary: 'crashing: 2 workers died in 10 min, all while running `image`',
      remedy: { at: 'workers' },
    },
  ],
  [
    stuck.crashing,
    { deaths: [death('killed', 'image', 'mail'), death('killed', 'mail-2', 'mail')] },
    { summary: 'crashing: 2 workers died in 10 min, all while running `mail`' },
  ],
  [
    stuck.crashing,
    { deaths: [death('killed', 'mail'), death('killed', 'mail-2')] },
    {
      summary: 'crashing: 2 workers died in 10 min, while running mail and mail-2',
      cause: 'their processes were killed, or ran out of memory',
    },
  ],
  [
    stuck.crashing,
    { stats: { failed: 1 }, ...killed(4, 'image') },
    { severity: 'warning', remedy: { at: 'jobs', state: 'failed' } },
  ],
  [stuck.crashing, killed(5, 'image'), { severity: 'critical', cause: expect.stringContaining('process.exit()') }],
  [
    stuck.crashing,
    { deaths: [death('uncaught error in its process: Error: boom', 'image'), death('killed', 'image')] },
    { cause: 'Error: boom' },
  ],
  [
    stuck.someStuck,
    { slots: 8, stuckSlots: 2 },
    { summary: 'idle, but 2 of 8 slots are kept by handlers that do not end' },
  ],
  [
    stuck.someStuck,
    { stats: { processing: 1 }, stuckSlots: 2 },
    { summary: 'flowing, but 2 of 2 slots are kept by handlers that do not end' },
  ],
  // The nearer end is named: the slots of the fleet, or `maxRunning`.
  [
    stuck.someStuck,
    { slots: 8, stuckSlots: 2, stuckJobs: 1, maxRunning: 4 },
    { summary: 'idle, but 2 of 8 slots are kept by handlers that do not end' },
  ],
  [
    stuck.someStuck,
    { slots: 8, stuckSlots: 2, stuckJobs: 2, maxRunning: 4 },
    { summary: 'idle, but 2 of 4 slots are kept by handlers that do not end' },
  ],
  [
    stuck.waitsForNothing,
    { lostMembers: [lost('1', false)] },
    { severity: 'notice', summary: 'batch `b` waits for job `1` of queue `pdf`, which is gone' },
  ],
  [
    stuck.waitsForNothing,
    { lostMembers: [lost('1', false), lost('2', true)] },
    {
      severity: 'warning',
      summary: 'batch `b` waits for job `1` of queue `pdf`, which is gone, and 1 more member that is gone',
    },
  ],
  [
    stuck.waitsForNothing,
    { lostMembers: [lost('1', false), lost('2', false), lost('3', false)] },
    { severity: 'notice', summary: expect.stringContaining('and 2 more members that are gone') },
  ],
])('a rule of stuck jobs finds as much as there is: %#', (rule, signs, found) => {
  expect(rule(signsOf(signs))).toMatchObject(found);
});

it.each([
  [[1], '; `web-0`, last seen 1 min ago, holds 1 job'],
  [[3], '; `web-0`, last seen 1 min ago, holds 3 jobs'],
  [[3, 1], '; `web-0`, last seen 1 min ago, holds 3 jobs; 1 more holds 1 job'],
  [[3, 1, 4], '; `web-0`, last seen 1 min ago, holds 3 jobs; 2 more hold 5 jobs'],
  [[], undefined],
])('names the silent worker with its jobs, and counts the others: %j', (holds, words) => {
  const silent = holds.map((each, i) => ({ id: `web-${i}:7`, seenAt: at(-MINUTE), holds: each }));
  expect(stuck.silentWords(signsOf({ silent }))).toBe(words);
  const { at: _now, ...signs } = signsOf({ silent });
  expect(stuck.silentWords(signs)).toBe(words);
});
