import type { JobQueue } from '../queue/job-queue.js';
import type { ScriptCall } from '../queue/script-runner.js';
import { SHORTEST_TRIP_MS, supervised } from '../queue/supervised.js';

/** How long an answer may take, in ms, before its connection is taken for dead and replaced. */
export const LONGEST_TRIP_MS = 10_000;

/**
 * Runs one script on the queue's own client, supervised.
 *
 * @param intervalMs how often this is done: an answer must be there before the next time
 */
export function runSupervised<Answer>(
  queue: JobQueue,
  call: ScriptCall<Answer>,
  intervalMs: number,
): Promise<Answer> {
  const limitMs = Math.min(LONGEST_TRIP_MS, Math.max(SHORTEST_TRIP_MS, intervalMs));
  return supervised(queue.connection.client, limitMs, queue.runner.run(call));
}
