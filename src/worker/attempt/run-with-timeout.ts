import type { JobQueue } from '../../queue/job-queue.js';
import type { ScriptCall } from '../../queue/redis/script-runner.js';
import { SHORTEST_TRIP_MS } from '../../queue/redis/response-timeout.js';

/** How long an answer may take, in ms, before its connection is taken for dead and replaced. */
export const LONGEST_TRIP_MS = 10_000;

/**
 * Runs one script on the queue's own client, withResponseTimeout. While the server is away nothing is handed to the client, which
 * would keep it: an hour of sweeps would all be sent at once when the server is back.
 *
 * @param intervalMs how often this is done: an answer must be there before the next time
 */
export function runSupervised<Answer>(
  queue: JobQueue,
  call: ScriptCall<Answer>,
  intervalMs: number,
): Promise<Answer> {
  const limitMs = Math.min(LONGEST_TRIP_MS, Math.max(SHORTEST_TRIP_MS, intervalMs));
  return queue.connection.answer(limitMs, () => queue.runner.run(call));
}
