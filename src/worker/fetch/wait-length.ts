import type { QueueRunner } from '../runner/queue-runner.js';

/**
 * The longest wait while a job may come without a marker, in ms. The worker then polls. A producer of the Redis pattern
 * sets none, and a limit may open while another worker waits for it.
 */
export const LONGEST_WAIT_MS = 1_000;

/** The longest wait at rest with claims behind it, in ms. It is also the time between two looks of a worker with many queues. */
export const LONGEST_REST_MS = 10_000;

/** The longest wait of a worker with many queues, in ms. It looks for jobs without a marker in other ways, see IdleLooks. */
const LONGEST_WAIT_FOR_MANY_MS = 5_000;

/** The longest wait of such a worker at rest, or while other workers look for jobs too, in ms. */
const LONGEST_LOOKED_WAIT_MS = 15_000;

/**
 * The longest wait, as a share of the visibility timeout. A job of a wait counts as claimed when the wait began. A heartbeat
 * comes each third, and would extend an older claim in flight.
 */
const WAIT_SHARE = 0.32;

/** How long a worker does not rest after its start, in ms. The workers that it replaces may have died with a marker. */
const START_MS = 30_000;

/**
 * Returns whether each job for these runners sets a marker. Not so soon after the start, and not behind
 * limits or beside jobs of other names. Not once a job came from a producer of the Redis pattern.
 */
export function areAtRest(runners: readonly QueueRunner[], sinceStartMs: number): boolean {
  return (
    sinceStartMs >= START_MS &&
    runners.every(({ outlook, names }) => !(outlook.isLimited || outlook.meetsForeign || names.only))
  );
}

/**
 * Returns the longest time to wait for jobs of these runners, in ms.
 *
 * @param looks how often the worker looks for jobs without a marker; undefined if the wait must end for that. Few looks need
 *   a wait without claims behind it. Such a claim would be old at its job.
 */
export function longestWaitMs(
  runners: readonly QueueRunner[],
  looks: 'each-second' | 'few' | undefined,
  isAtRest: boolean,
): number {
  if (looks === 'few') {
    return LONGEST_LOOKED_WAIT_MS;
  }
  const shares = runners.map(({ queue }) => WAIT_SHARE * queue.options.visibilityMs);
  const longestMs = looks ? LONGEST_WAIT_FOR_MANY_MS : isAtRest ? LONGEST_REST_MS : LONGEST_WAIT_MS;
  return Math.min(longestMs, ...shares);
}
