// The work of two queues that share a limit. Each worker serves both, and notes how long each handler ran.
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { SharedLimitValues } from '#queue/model/shared-limit.js';
import { queueOptions } from './workload.js';

/** Jobs at once over both queues and all workers. */
export const MOST_SHARED = 3;

/** Returns the names of the queues. @param queue the main queue of the run */
export function sharingQueues(queue: string): [string, string] {
  return [`${queue}-shared-1`, `${queue}-shared-2`];
}

/** Returns the name of the limit. */
export function sharedLimitOf(queue: string): string {
  return `${queue}-partner`;
}

export function sharedOptions(queue: string): QueueOptions {
  return { ...queueOptions(false), limits: [sharedLimitOf(queue)] };
}

export function sharedValues(queue: string): Record<string, SharedLimitValues> {
  return { [sharedLimitOf(queue)]: { maxRunning: MOST_SHARED } };
}
