import type { JobStatus } from '../queue/model/job.js';
import type { QueueSigns, QueueVerdict } from './queue-signs.js';
import { count, duration } from './words.js';

/** Returns a verdict if its case fits, else undefined. */
export type Rule = (signs: QueueSigns) => Finding | undefined;

/** Where the next step of a verdict is taken: a place of the dashboard, or a command. */
export type Remedy =
  | { at: 'workers' | 'groups' | 'resume' | 'limits' }
  | { at: 'jobs'; state: JobStatus; search?: string }
  | { at: 'batch'; id: string }
  | { at: 'command'; command: string };

/** A verdict without the name of the queue, with the place where its next step is taken. */
export type Finding = Omit<QueueVerdict, 'queue'> & { remedy?: Remedy };

/** A job that waits for less than this is no sign of anything, in ms. */
export const PATIENCE_MS = 10_000;
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

/** Returns whether claimable jobs have waited this long: the queue is not paused, and no group holds them back. */
export function isOverdue(signs: QueueSigns, ms: number): boolean {
  const { pausedAt, oldestUnheldAgeMs } = signs.stats;
  return pausedAt === null && !isEmpty(signs) && oldestUnheldAgeMs > ms;
}

/** Returns the end of the rest or rate limit that blocks all jobs of the queue. Undefined if a job may start now. */
export function closedUntil({ restsUntil, nextStartAt, at = new Date() }: QueueSigns): Date | undefined {
  const until = Math.max(restsUntil?.getTime() ?? 0, nextStartAt?.getTime() ?? 0);
  return until > at.getTime() ? new Date(until) : undefined;
}

/**
 * Returns the most jobs that the fleet runs at once, by its slots and `maxRunning`. Undefined if neither is known.
 */
export function mostRunning({ slots, maxRunning }: QueueSigns): number | undefined {
  const most = Math.min(slots ?? Infinity, maxRunning ?? Infinity);
  return most === Infinity ? undefined : most;
}

/**
 * Returns the time until no job waits, in ms, at the pace of the last minutes. Infinity: the backlog grows. Undefined: no
 * job has waited for long, or the pace is unknown.
 */
export function drainsInMs(signs: QueueSigns): number | undefined {
  const { stats, rates } = signs;
  if (!rates || !isOverdue(signs, LONG_WAIT_MS)) {
    return undefined;
  }
  const perSecond = rates.out - rates.in;
  const whileGrowing = rates.growing ? Infinity : undefined; // a burst within the window says nothing of the next minutes
  return perSecond > 0 ? (stats.pending / perSecond) * 1_000 : whileGrowing;
}

/** Returns the time to drain in a few words for a table; undefined where no backlog waits. */
export function drainWords(signs: QueueSigns): string | undefined {
  const ms = drainsInMs(signs);
  if (ms === undefined) {
    return undefined;
  }
  return ms === Infinity ? 'never' : duration(ms);
}

/** Returns the time to drain as the end of a sentence; empty where no backlog waits. */
export function drainClause(signs: QueueSigns): string {
  const words = drainWords(signs);
  if (words === undefined) {
    return '';
  }
  return words === 'never' ? '; at this pace it never drains' : `; drains in about ${words}`;
}

export function deadLetters({ stats }: QueueSigns): string {
  const { failed, errorKinds = 0 } = stats;
  const kinds =
    errorKinds > 0 && failed > 1 ? ` of ${errorKinds === 1 ? 'one kind' : `${count(errorKinds)} kinds`}` : '';
  return failed > 0 ? `, ${count(failed)} dead ${failed === 1 ? 'letter' : 'letters'}${kinds}` : '';
}
