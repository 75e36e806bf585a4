import { count, duration } from './words.js';
import type { GroupLimits, RateLimit } from '../queue/model/limits.js';
import type { LimitsInForce } from '../queue/store/verbs/limit-verbs.js';

/** Returns the limits of a queue in words; null if it has none. */
export function limitsInWords({ source, maxPending, maxPendingBytes, ...limits }: LimitsInForce): string | null {
  const words = [...partsOf(limits), ...waiting(maxPending, maxPendingBytes)].join(', ');
  return words === '' ? null : `${words}${source === 'set' ? ', set at run time' : ''}`;
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
