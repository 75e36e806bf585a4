// The work of two queues that share a limit. Each worker serves both, and notes how long each handler ran.
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { SharedLimitValues } from '#queue/model/shared-limit.js';
import { queueOptions } from './workload.js';

/** Jobs at once over both queues and all workers. */
export const MOST_SHARED = 3;
/** Jobs at once of one key, over both queues and all workers. */
export const MOST_OF_KEY = 2;
/** The keys. One job in four has none, so no key bounds it. */
const KEYS = ['acme', 'bolt', 'cog'];
/** The most that a job costs of the rate, of which there is enough. */
const MOST_COST = 3;

/** Returns the names of the queues. @param queue the main queue of the run */
export function sharingQueues(queue: string): [string, string] {
  return [`${queue}-shared-1`, `${queue}-shared-2`];
}

/** Returns the name of the limit. */
export function sharedLimitOf(queue: string): string {
  return `${queue}-partner`;
}

/** Returns the name of the limit that each key has for itself. */
export function keyedLimitOf(queue: string): string {
  return `${queue}-tenant`;
}

export function sharedOptions(queue: string): QueueOptions {
  return {
    ...queueOptions(false),
    limits: [
      { limit: sharedLimitOf(queue), cost: { default: 1, most: MOST_COST } },
      { limit: keyedLimitOf(queue), key: 'group' },
    ],
  };
}

export function sharedValues(queue: string): Record<string, SharedLimitValues> {
  return {
    [sharedLimitOf(queue)]: { maxRunning: MOST_SHARED, rateLimit: { limit: 2_000, periodMs: 1_000, burst: 100 } },
    [keyedLimitOf(queue)]: { maxRunning: MOST_OF_KEY },
  };
}

/** Returns the key of a job, and what it costs. Most enqueues say it. */
export function sharedCosts(queue: string, n: number): { group?: string; limitCosts?: Record<string, number> } {
  const cost = n % (MOST_COST + 1);
  const group = KEYS[Math.floor(n / (MOST_COST + 1)) % (KEYS.length + 1)];
  return {
    ...(group !== undefined && { group }),
    ...(cost > 0 && { limitCosts: { [sharedLimitOf(queue)]: cost } }),
  };
}
