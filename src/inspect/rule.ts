import { LATE_AFTER_MS } from '../queue/model/queue-options.js';
import type { JobStatus } from '../queue/model/job.js';
import type { SharedLimitState } from '../queue/model/shared-limit.js';
import type { QueueSigns, QueueVerdict, RecentRates } from './queue-signs.js';
import { count, duration, rate } from './words.js';

/** Returns a verdict if its case fits, else undefined. */
export type Rule = (signs: QueueSigns) => Finding | undefined;

/** Where the next step of a verdict is taken: a place of the dashboard, or a command. */
export type Remedy =
  | { at: 'workers' | 'groups' | 'resume' | 'limits' | 'shared-limit' | 'schedules' | 'outbox' }
  | { at: 'jobs'; state: JobStatus; search?: string }
  | { at: 'batch' | 'job'; id: string }
  | { at: 'command'; command: string };

/** A verdict without the name of the queue, with the place where its next step is taken. */
export type Finding = Omit<QueueVerdict, 'queue'> & { remedy?: Remedy };

/** The next step for a name that no worker handles. */
export const START_HANDLER = 'start a worker with that handler, or look for a misspelled name';

/** The time after which workers ask again for a permit of a shared limit, in ms. */
const SOON_MS = 1_000;

/** A job that waits for less than this is no sign of anything, in ms. */
export const PATIENCE_MS = 10_000;
/** The share by which more jobs must end than come, so that a backlog counts as shrinking. */
const LEAST_GAIN = 0.01;
/** The wait from which a queue with a busy worker is reported, in ms. */
export const LONG_WAIT_MS = 60_000;

export function waits({ stats }: QueueSigns): string {
  const { pending, oldestPendingAgeMs } = stats;
  return pending > 0
    ? `${count(pending)} waiting for ${duration(oldestPendingAgeMs)}`
    : `scheduled jobs have been due for ${duration(oldestPendingAgeMs)}`;
}

/** Returns whether no job waits. A due scheduled job has an age, and becomes pending only by a claim or a sweep. */
export function isEmpty({ stats }: QueueSigns): boolean {
  return stats.pending === 0 && (stats.scheduled === 0 || stats.oldestPendingAgeMs === 0);
}

export function isOld({ stats }: QueueSigns, ms: number): boolean {
  return stats.oldestPendingAgeMs > ms;
}

/** Returns whether claimable jobs have waited this long. Of a paused queue, or if groups or keys hold its jobs back, none have. */
export function isOverdue(signs: QueueSigns, ms: number): boolean {
  const { pausedAt, oldestUnheldAgeMs } = signs.stats;
  return pausedAt === null && !isEmpty(signs) && !awaitsPermits(signs) && oldestUnheldAgeMs > ms;
}

/**
 * Returns whether most waiting jobs wait for a permit of their key. A group rests so only after a worker has asked for it, for at
 * most 30 s. Between two rests it is claimable for a moment, so of many groups some always are.
 */
export function awaitsPermits({ stats: { awaitingPermit = 0, pending } }: QueueSigns): boolean {
  return awaitingPermit > 0 && awaitingPermit >= pending / 2;
}

/** The multiple of the usual wait from which a queue is late. */
const MANY_TIMES = 10;
/** The multiple of the usual run time that jobs may wait, if no worker has announced a limit. */
const FEW_TIMES = 3;

/** Returns whether the oldest claimable job waits for longer than the queue allows, or far longer than usual. */
export function isLate(signs: QueueSigns): boolean {
  const { usualWaitMs = Infinity, usualRunMs = 0 } = signs;
  const { lateAfterMs = Math.max(LATE_AFTER_MS, FEW_TIMES * usualRunMs) } = signs.stats;
  return isOverdue(signs, Math.min(lateAfterMs, Math.max(LONG_WAIT_MS, MANY_TIMES * usualWaitMs)));
}

/**
 * Returns the limits shared with other queues for which the jobs of the queue wait now. Each is paused, rests, or has the
 * queue in its line.
 */
export function holdingLimits({ queue, sharedLimits = [] }: QueueSigns): SharedLimitState[] {
  return sharedLimits.filter(
    ({ pausedAt, restsUntil, waiting }) => pausedAt ?? restsUntil ?? waiting.includes(queue),
  );
}

/** Returns the end of the rest or limit that blocks all jobs of the queue. Undefined if a job may start now. */
export function closedUntil(signs: QueueSigns): Date | undefined {
  const { restsUntil, nextStartAt, at = new Date() } = signs;
  const ofShared = holdingLimits(signs).length > 0 ? at.getTime() + SOON_MS : 0; // the end of a job of another queue may open it
  const until = Math.max(restsUntil?.getTime() ?? 0, nextStartAt?.getTime() ?? 0, ofShared);
  return until > at.getTime() ? new Date(until) : undefined;
}

/** Returns whether as many jobs run as may: they take all slots of the fleet, or reach `maxRunning`. */
export function isBusy({
  stats: { processing },
  slots = Infinity,
  usedSlots = processing,
  maxRunning = Infinity,
}: QueueSigns): boolean {
  return usedSlots >= slots || processing >= maxRunning;
}

/** Far more jobs end than in the last minutes: this many times as many. */
const REPAIRED = 3;
/** The queue falls behind if less than this share of the added jobs ends. */
export const KEEPS_UP_SHARE = 0.9;

/**
 * Returns the rates that hold now. They are those of the last seconds if far more ends than in the last minutes, as after a
 * repair. Else short bursts would make the figures dance.
 */
export function ratesNow({ rates, pace }: QueueSigns): Pick<RecentRates, 'in' | 'out' | 'growing'> | undefined {
  if (!rates || !pace || pace.outPerS <= REPAIRED * rates.out) {
    return rates;
  }
  const { inPerS, outPerS } = pace;
  return { in: inPerS, out: outPerS, growing: outPerS < inPerS * KEEPS_UP_SHARE };
}

/**
 * Returns the time until no job waits, in ms, at the pace of the last minutes. Infinity: the backlog grows, or stays
 * although the queue is late. Undefined: no job has waited for long, or the pace is unknown.
 */
export function drainsInMs(signs: QueueSigns): number | undefined {
  const { stats } = signs;
  const rates = ratesNow(signs);
  if (!rates || !isOverdue(signs, LONG_WAIT_MS)) {
    return undefined;
  }
  const perSecond = rates.out - rates.in;
  const stays = rates.growing || isLate(signs) ? Infinity : undefined; // a burst within the window says nothing of the next minutes
  return perSecond > rates.in * LEAST_GAIN ? (stats.pending / perSecond) * 1_000 : stays;
}

/**
 * Returns the time until no job waits at the pace of the last seconds, in ms. Undefined if the pace is unknown, the queue
 * does not drain by it, or not soon. It wins over the pace of the last minutes: a repair shows at once.
 */
export function drainsNowInMs({ pace, stats }: QueueSigns): number | undefined {
  const perSecond = pace ? pace.outPerS - pace.inPerS : 0;
  const ms = (stats.pending / perSecond) * 1_000;
  return pace && stats.pending > 0 && perSecond > pace.inPerS * LEAST_GAIN && ms < LATE_AFTER_MS ? ms : undefined;
}

/** Returns what differs from usual, in words; undefined if nothing did. */
export function changeWords({ change }: QueueSigns): string | undefined {
  if (!change) {
    return undefined;
  }
  const { of, before, now, since, alsoMore } = change;
  const begin = since ? `since ${since.toISOString().slice(11, 16)} UTC` : 'for over an hour';
  return of === 'run'
    ? `run p50 ${duration(before)} → ${duration(now)} ${begin}; ${alsoMore ? 'more arrivals too' : 'arrivals as usual'}`
    : `arrivals ${rate(before)} → ${rate(now)} ${begin}; run time as usual`;
}

/** Returns the time to drain in a few words for a table; undefined where no backlog waits. */
export function drainWords(signs: QueueSigns): string | undefined {
  const ms = drainsInMs(signs);
  if (ms === undefined) {
    return undefined;
  }
  return ms === Infinity ? (ratesNow(signs)?.growing ? 'never' : 'not at this pace') : duration(ms);
}

/** Returns the time to drain as the end of a sentence; empty where no backlog waits. */
export function drainClause(signs: QueueSigns): string {
  const words = drainWords(signs);
  if (words === undefined) {
    return '';
  }
  if (words === 'not at this pace') {
    return '; it keeps its pace, so the delay stays';
  }
  return words === 'never' ? '; at this pace it never drains' : `; drains in about ${words}`;
}

export function deadLetters({ stats }: QueueSigns): string {
  const { failed, errorKinds = 0 } = stats;
  const kinds =
    errorKinds > 0 && failed > 1 ? ` of ${errorKinds === 1 ? 'one kind' : `${count(errorKinds)} kinds`}` : '';
  return failed > 0 ? `, ${count(failed)} dead ${failed === 1 ? 'letter' : 'letters'}${kinds}` : '';
}
