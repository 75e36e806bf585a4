// Limits on the number of waiting jobs and the bytes of their payloads; see lua/lib/limits/fullness.lua.
import type { Full } from '../../queue/store/enqueue-call.js';
import type { ScoredSet } from './scored-set.js';

export interface Bounds {
  maxPending?: number | undefined;
  maxPendingBytes?: number | undefined;
}

/** The waiting jobs of a queue, and their bounds. */
export interface WaitingJobs {
  readonly options: Bounds;
  readonly pending: readonly string[];
  readonly prioritized: ScoredSet;
  readonly scheduled: ScoredSet;
  readonly enqueuedLater: ReadonlyMap<string, number>;
  readonly now: number;
  job(id: string): Record<string, string> | undefined;
}

/** Returns the bound that refuses a job. @param set the bounds set at run time, which take precedence */
export function fullnessOf(
  queue: WaitingJobs,
  set: Bounds | undefined,
  group: string | undefined,
  ofGroup: Bounds | undefined,
  payload: string,
): Full | undefined {
  const bounds = {
    maxPending: set?.maxPending ?? queue.options.maxPending,
    maxPendingBytes: set?.maxPendingBytes ?? queue.options.maxPendingBytes,
  };
  const all = [...queue.pending, ...queue.prioritized.members(), ...queue.scheduled.members()];
  const reached = boundReached(queue, all, all, payload, bounds);
  if (reached || group === undefined || !ofGroup) {
    return reached && { ...reached, group: undefined };
  }
  return groupFullness(queue, group, ofGroup, payload);
}

export function groupFullness(
  queue: WaitingJobs,
  group: string,
  ofGroup: Bounds,
  payload: string,
): Full | undefined {
  if (ofGroup.maxPending === undefined && ofGroup.maxPendingBytes === undefined) {
    return undefined; // an enqueue without bounds looks at no waiting job
  }
  const later = queue.scheduled.members();
  const waiting = [...queue.pending, ...queue.prioritized.members()];
  const line = waiting.filter((id) => queue.job(id)?.group === group);
  const isCounted = (id: string) => (queue.enqueuedLater.get(id) ?? 0) > queue.now;
  const delayed = later.filter((id) => queue.job(id)?.group === group && isCounted(id));
  const inGroup = boundReached(queue, [...line, ...delayed], line, payload, ofGroup);
  return inGroup && { ...inGroup, group };
}

/** @param counted the jobs that count for `maxPending` @param weighed those that count for `maxPendingBytes` */
function boundReached(
  queue: WaitingJobs,
  counted: readonly string[],
  weighed: readonly string[],
  payload: string,
  { maxPending, maxPendingBytes }: Bounds,
): Pick<Full, 'limit' | 'unit'> | undefined {
  if (maxPending !== undefined && counted.length >= maxPending) {
    return { limit: maxPending, unit: 'jobs' };
  }
  if (maxPendingBytes === undefined) {
    return undefined;
  }
  const sizes = weighed.map((id) => Buffer.byteLength(queue.job(id)?.payload ?? ''));
  const bytes = sizes.reduce((sum, size) => sum + size, Buffer.byteLength(payload));
  return bytes > maxPendingBytes ? { limit: maxPendingBytes, unit: 'bytes' } : undefined;
}
