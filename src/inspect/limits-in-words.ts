import { count, duration } from './words.js';
import {
  type GroupLimits,
  type LimitChanges,
  type RateLimit,
  ratesOf,
  type RuntimeLimits,
} from '../queue/model/limits.js';
import type { LimitsEntry } from './queue-signs.js';
import type { SharedLimitChanges } from '../queue/model/shared-limit.js';
import type { LimitsInForce } from '../queue/model/limits.js';

/**
 * Returns the limits of a queue in words; null if it has none. None that were set override those of the code, too.
 *
 * @param entries who set them, the newest first
 */
export function limitsInWords(
  { source, configured, ...limits }: LimitsInForce,
  entries: readonly LimitsEntry[] = [],
  at = new Date(),
): string | null {
  const words = allIn(limits);
  if (source !== 'set') {
    return words || null;
  }
  const [last] = entries;
  const by = last ? `set by ${last.by} ${duration(at.getTime() - last.at.getTime())} ago` : 'set at run time';
  return `${words || 'none'}, ${by}${configured ? `; the code says ${allIn(configured) || 'none'}` : ''}`;
}

function allIn({ maxPending, maxPendingBytes, ...limits }: RuntimeLimits): string {
  return [...partsOf(limits), ...waiting(maxPending, maxPendingBytes)].join(', ');
}

const TAKEN_AWAY: Record<keyof LimitChanges, string> = {
  maxRunning: 'no limit of running jobs',
  rateLimit: 'no rate limit',
  groups: 'no limits for all groups',
  maxPending: 'no limit of waiting jobs',
  maxPendingBytes: 'no limit of waiting bytes',
};

/** Returns the changes of a queue's limits in words. */
export function limitChangesInWords(changes: LimitChanges): string {
  const entries = Object.entries(changes) as [keyof LimitChanges, unknown][];
  const { rateLimit, ...set } = Object.fromEntries(entries.filter(([, limit]) => limit !== null)) as RuntimeLimits;
  const taken = entries.filter(([, limit]) => limit === null).map(([name]) => TAKEN_AWAY[name]);
  const words = [
    limitsInWords({ ...set, source: 'configuration' }),
    rateLimit && rateChangeInWords(rateLimit),
    set.groups && 'limits for all groups',
    ...taken,
  ];
  return words.filter(Boolean).join(', ') || 'no change';
}

/** Returns the changes of a limit that queues share, in words. */
export function sharedLimitChangesInWords({ maxRunning, rateLimit }: SharedLimitChanges): string {
  const words = [
    maxRunning === null ? TAKEN_AWAY.maxRunning : partsOf({ maxRunning }),
    rateLimit === null ? TAKEN_AWAY.rateLimit : ratesOf({ rateLimit }).map(startsIn),
  ];
  return words.flat().join(', ') || 'no change';
}

function rateChangeInWords({ limit, periodMs, burst }: Partial<RateLimit>): string {
  if (limit !== undefined && periodMs !== undefined) {
    return startsIn({ limit, periodMs, ...(burst !== undefined && { burst }) });
  }
  const parts = [
    limit !== undefined && `${count(limit)} in the period of the rate`,
    periodMs !== undefined && `a period of ${duration(periodMs)}`,
    burst !== undefined && `${count(burst)} at once`,
  ];
  return parts.filter(Boolean).join(', ');
}

/** Returns the limits of a group in words, or null without limits of its own. */
export function groupLimitsInWords(limits: GroupLimits): string | null {
  const { weight, maxPending, maxPendingBytes, onDeadHead } = limits;
  const parts = [
    ...(weight === undefined ? [] : [`weight ${count(weight)}`]),
    ...partsOf(limits),
    ...waiting(maxPending, maxPendingBytes),
    ...(onDeadHead === 'hold' ? ['waits behind a dead letter'] : []),
  ];
  return parts.length > 0 ? parts.join(', ') : null;
}

function waiting(jobs: number | undefined, bytes: number | undefined): string[] {
  return [
    ...(jobs === undefined ? [] : [`at most ${count(jobs)} wait`]),
    ...(bytes === undefined ? [] : [`at most ${count(bytes)} bytes wait`]),
  ];
}

function partsOf({ maxRunning, rateLimit }: Pick<GroupLimits, 'maxRunning' | 'rateLimit'>): string[] {
  return [
    ...(maxRunning === undefined ? [] : [`at most ${count(maxRunning)} run at once`]),
    ...(rateLimit ? [startsIn(rateLimit)] : []),
  ];
}

function startsIn({ limit, periodMs, burst = 1 }: RateLimit): string {
  const atOnce = burst > 1 ? ` and ${count(burst)} at once` : '';
  return `${count(limit)} start in ${duration(periodMs)}${atOnce}`;
}
