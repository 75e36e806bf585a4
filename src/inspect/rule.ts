import type { QueueSigns, QueueVerdict } from './queue-signs.js';
import { count, duration } from './words.js';

/** Returns a verdict if its case fits, else undefined. */
export type Rule = (signs: QueueSigns) => Finding | undefined;

/** A verdict without the name of the queue. */
export type Finding = Omit<QueueVerdict, 'queue'>;

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

/** A scheduled job that is due has an age, and is not pending until a claim or a sweep makes it so. */
export function isEmpty({ stats }: QueueSigns): boolean {
  return stats.pending === 0 && (stats.scheduled === 0 || stats.oldestPendingAgeMs === 0);
}

export function isOld({ stats }: QueueSigns, ms: number): boolean {
  return stats.oldestPendingAgeMs > ms;
}

/** Returns whether jobs have waited for so long that a worker could take: the queue is not paused, and no group holds them back. */
export function isOverdue(signs: QueueSigns, ms: number): boolean {
  const { pausedAt, oldestUnheldAgeMs } = signs.stats;
  return pausedAt === null && !isEmpty(signs) && oldestUnheldAgeMs > ms;
}

/** Returns until when no job of the queue may start, by a rest or its rate; undefined if one may start now. */
export function closedUntil({ restsUntil, nextStartAt, at = new Date() }: QueueSigns): Date | undefined {
  const until = Math.max(restsUntil?.getTime() ?? 0, nextStartAt?.getTime() ?? 0);
  return until > at.getTime() ? new Date(until) : undefined;
}

/** How many jobs the fleet runs at most at once, by its slots and `maxRunning`; undefined where nothing says so. */
export function mostRunning({ slots, maxRunning }: QueueSigns): number | undefined {
  const most = Math.min(slots ?? Infinity, maxRunning ?? Infinity);
  return most === Infinity ? undefined : most;
}

export function deadLetters({ stats }: QueueSigns): string {
  return stats.failed > 0 ? `, ${count(stats.failed)} dead ${stats.failed === 1 ? 'letter' : 'letters'}` : '';
}
