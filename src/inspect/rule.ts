import type { QueueSigns, QueueVerdict } from './queue-signs.js';
import { count, duration } from './words.js';

/** Says what is the matter where its case fits; undefined where it does not. */
export type Rule = (signs: QueueSigns) => Omit<QueueVerdict, 'queue'> | undefined;

/** A job that waits for less than this is no sign of anything, in ms. */
export const PATIENCE_MS = 10_000;
/** With a worker at work, a wait longer than this deserves a word, in ms. */
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
