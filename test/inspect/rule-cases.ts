// The first moment in which each rule of the verdict speaks.
import type { QueueSigns, RecentRates } from '#inspect/queue-signs.js';
import { decodeSchedule } from '#queue/verbs/schedule.js';
import type { ScheduleRecord } from '#queue/model/schedule.js';
import type { QueueStats } from '#queue/model/job.js';
import type { SharedLimitState } from '#queue/model/shared-limit.js';
import { NO_STATS } from '../support/queue/no-stats.js';

const AT = new Date('2026-01-01T12:00:00Z');
const MINUTE = 60_000;
/** Three minutes, in ms. */
export const LATER = 3 * MINUTE;
const QUIET: QueueStats = { ...NO_STATS, at: AT, workers: 2 };

const rates = (inRate: number, out: number, more: Partial<RecentRates> = {}): RecentRates => ({
  windowMs: LATER,
  in: inRate,
  out,
  failedShare: 0,
  attempts: Math.round(out * 180),
  growing: out < inRate,
  ...more,
});
/** Returns the figures of jobs that wait, the oldest for this many ms. */
const waiting = (ms: number, unheld = ms) => ({ pending: 40, oldestPendingAgeMs: ms, oldestUnheldAgeMs: unheld });
/** Rates of a queue in which nothing happens, as the history says once it is long enough. */
const NOTHING = rates(0, 0, { growing: false });

const RUNS: ScheduleRecord['runs'] = [
  ...[1, 2, 3].map((min) => ({
    jobId: null,
    at: new Date(AT.getTime() - min * MINUTE),
    status: 'kept' as const,
    isByHand: false,
  })),
  { jobId: '@schedule:hourly:1', at: new Date(AT.getTime() - 4 * MINUTE), status: 'processing', isByHand: false },
];
/** Returns a schedule of the code, every hour. */
export function schedule(more: Partial<ScheduleRecord>): ScheduleRecord {
  const known = decodeSchedule('email', ['id', 'hourly']);
  return { ...known, status: 'active', source: 'code', everyMs: 60 * MINUTE, ticks: 4, ...more };
}

/** Returns workers that died while they ran jobs of a name. */
function deaths(count: number, name: string): NonNullable<QueueSigns['deaths']> {
  return Array.from({ length: count }, (_, i) => ({
    worker: `web-1:${i}:${name}`,
    how: 'worker process ended',
    jobs: 1,
    ran: [{ id: `${name}-${i}`, name }],
    at: AT,
  }));
}

/** Returns a limit of several queues, whose slots are all taken. */
function sharedLimit(more: Partial<SharedLimitState>): SharedLimitState {
  const holders = [{ queue: 'sms', worker: 'web-1', permits: 2 }];
  return {
    name: 'gateway',
    maxRunning: 2,
    rateLimit: [],
    source: 'set',
    running: 2,
    holders,
    waiting: [],
    queues: ['sms'],
    ...more,
  };
}

type Case = [stats: Partial<QueueStats>, signs?: Partial<QueueSigns>];

/** The first moment in which each rule speaks. What the signs do not say, the history learns within three minutes. */
export const CASES: Record<string, Case[]> = {
  stuckHandlers: [
    [{ ...waiting(11_000) }, { slots: 20, stuckSlots: 20 }],
    [
      { ...waiting(11_000), processing: 20, expiredClaims: 0 },
      { slots: 20, stuckSlots: 20 },
    ],
    [
      { ...waiting(11_000), failed: 20 },
      { slots: 20, stuckSlots: 20, rates: rates(9, 3, { failedShare: 1 }) },
    ],
    [{ ...waiting(11_000) }, { slots: 20, stuckSlots: 20, maxRunning: 5 }],
    [{ ...waiting(11_000) }, { slots: 20, stuckSlots: 20, unserved: [{ name: 'emial', waitingMs: 11_000 }] }],
  ],
  paused: [
    [{ ...waiting(1_000), pausedAt: AT, pausedUntil: new Date(AT.getTime() + 10 * MINUTE) }],
    [{ ...waiting(1_000), pausedAt: AT }],
    [{ ...waiting(1_000), pausedAt: AT, workers: 0 }],
    [
      { ...waiting(1_000), pausedAt: AT },
      { slots: 20, stuckSlots: 20 },
    ],
  ],
  noWorker: [
    [{ ...waiting(11_000), workers: 0 }],
    [{ ...waiting(31_000), workers: 0, lastWorkerAt: new Date(AT.getTime() - 31_000) }],
  ],
  unserved: [
    [waiting(11_000), { unserved: [{ name: 'emial', waitingMs: 11_000 }] }],
    [
      { ...waiting(11_000, 0), processing: 4 },
      { unserved: [{ name: 'emial', waitingMs: 11_000 }], rates: rates(9, 9) },
    ],
  ],
  givesNothing: [
    [waiting(63_001), { rateLimit: { limit: 30, periodMs: 1_000, burst: 45 } }],
    [
      waiting(63_001),
      { rateLimit: { limit: 30, periodMs: 1_000, burst: 45 }, nextStartAt: new Date(AT.getTime() + 10 * MINUTE) },
    ],
  ],
  takesNothing: [[waiting(61_000)], [waiting(61_000), { pausedWorkers: 2 }]],
  expired: [
    [
      { ...waiting(61_000), processing: 3, expiredClaims: 3 },
      { sinceMaintenanceMs: 61_000, slots: 20 },
    ],
  ],
  crashing: [
    [{ failed: 3 }, { deaths: deaths(12, 'image') }],
    [{}, { deaths: [...deaths(1, 'image'), ...deaths(1, 'video')] }],
  ],
  failing: [
    [{ ...waiting(1_000, 0), failed: 9, processing: 2 }, { rates: rates(1, 1, { failedShare: 0.9 }) }],
    [{ ...waiting(1_000, 0), scheduled: 9, processing: 2 }, { rates: rates(1, 1, { failedShare: 0.9 }) }],
    [{ ...waiting(1_000, 0), processing: 2 }, { rates: rates(1, 1, { failedShare: 0.9 }) }],
  ],
  heldBySharedLimit: [
    [waiting(11_000), { sharedLimits: [sharedLimit({ waiting: ['email'] })] }],
    [waiting(1_000), { sharedLimits: [sharedLimit({ pausedAt: AT })] }],
  ],
  costsMoreThanBurst: [
    [
      waiting(1_000, 0),
      {
        sharedLimits: [sharedLimit({ rateLimit: [{ limit: 9, periodMs: 1_000, burst: 2 }] })],
        limitCosts: { gateway: 3 },
      },
    ],
  ],
  resting: [[waiting(1_000), { restsUntil: new Date(AT.getTime() + 10 * MINUTE) }]],
  rateLimited: [
    [waiting(1_000), { nextStartAt: new Date(AT.getTime() + 10 * MINUTE) }],
    [
      { ...waiting(11_000), processing: 1 },
      { rateLimit: { limit: 1, periodMs: 1_000, burst: 1 }, rates: rates(1, 1), nextStartAt: AT },
    ],
  ],
  full: [
    [
      { ...waiting(11_000), processing: 2 },
      { maxRunning: 2, slots: 20 },
    ],
  ],
  heldByKeys: [
    [
      { ...waiting(11_000, 0), awaitingPermit: 40 },
      { awaitedKeys: { groups: 1, jobs: 40, keys: [{ ...sharedLimit({}), key: 'acme' }] } },
    ],
  ],
  heldByGroups: [[{ ...waiting(11_000, 0), heldByGroups: 40 }]],
  behind: [
    [
      { ...waiting(61_000), processing: 4 },
      { rates: rates(9, 3), slots: 4 },
    ],
  ],
  late: [
    [
      { ...waiting(301_000), processing: 4 },
      { rates: rates(9, 9, { growing: false }), slots: 4 },
    ],
  ],
  draining: [
    [
      { ...waiting(301_000), processing: 4 },
      { rates: rates(9, 3), pace: { inPerS: 1, outPerS: 9, failedPerS: 0 }, slots: 4 },
    ],
  ],
  silentWorkers: [
    [{ processing: 12 }, { silent: [{ id: 'web-3:7:x', seenAt: new Date(AT.getTime() - 40_000), holds: 12 }] }],
  ],
  unrunSchedule: [
    [{}, { schedules: [schedule({ overdueSince: new Date(AT.getTime() - 70 * MINUTE) })] }],
    [{}, { schedules: [schedule({ isDeclared: true, overdueSince: new Date(AT.getTime() - 70 * MINUTE) })] }],
  ],
  hangingSchedule: [[{ processing: 1 }, { rates: rates(9, 9), schedules: [schedule({ runs: RUNS })] }]],
  slow: [[{ ...waiting(61_000), processing: 4 }, { slots: 4 }]],
  maintained: [[{ processing: 4 }, { sinceMaintenanceMs: 61_000, rates: rates(9, 9) }]],
  someStuck: [[{ processing: 4 }, { slots: 20, stuckSlots: 2, rates: rates(9, 9) }]],
  dying: [
    [{ failed: 3 }, { lastHour: { died: 3, ended: 900 }, rates: NOTHING }],
    [{ failed: 25 }, { lastHour: { died: 25, ended: 30 }, rates: NOTHING }],
  ],
  waitsForNothing: [
    [{}, { lostMembers: [{ batch: 'pages', id: '1', queue: 'page', isUnchecked: false }] }],
    [{}, { lostMembers: [{ batch: 'pages', id: '1', queue: 'page', isUnchecked: true }] }],
  ],
  dropped: [[{ failed: 9, droppedAt: AT, totals: { dropped: 4 } }]],
  remembering: [[{ rememberedIds: { count: 450_000, bound: 500_000 } }]],
  flowing: [[{ ...waiting(4_000, 0), processing: 4 }, { rates: rates(9, 9) }]],
};

/** Returns the signs of a case after some ms. */
export function signsAt(passedMs: number, [stats, signs = {}]: Case): QueueSigns {
  const grown = (ms: number | undefined) => (ms === undefined || ms === 0 ? ms : ms + passedMs);
  const { pausedAt, oldestPendingAgeMs = 0, oldestUnheldAgeMs = 0 } = stats;
  return {
    queue: 'email',
    ...signs,
    at: new Date(AT.getTime() + passedMs),
    ...(passedMs > 0 && { rates: signs.rates ?? NOTHING }),
    ...(signs.unserved && {
      unserved: signs.unserved.map(({ name, waitingMs }) => ({ name, waitingMs: waitingMs + passedMs })),
    }),
    sinceMaintenanceMs: grown(signs.sinceMaintenanceMs),
    stats: {
      ...QUIET,
      ...stats,
      pausedAt: pausedAt ?? null,
      oldestPendingAgeMs: grown(oldestPendingAgeMs)!,
      oldestUnheldAgeMs: grown(oldestUnheldAgeMs)!,
    },
  };
}
