import type { QueueRunner } from '../runner/queue-runner.js';

/** The longest wait, in ms. The worker then polls, because a producer of the Redis pattern sets no marker. */
export const LONGEST_WAIT_MS = 1_000;

/** The longest wait of a worker with many queues, in ms. It looks for jobs without a marker in other ways, see IdleLooks. */
const LONGEST_WAIT_FOR_MANY_MS = 5_000;

/** The longest wait of such a worker while other workers look for jobs too, in ms. None if claims travel behind it. */
const LONGEST_WAIT_IN_FLEET_MS = 15_000;

/** The longest wait, as a share of the visibility timeout. A job of a wait counts as claimed when the wait began. */
const WAIT_SHARE = 0.25;

/**
 * Returns the longest time to wait for jobs of these runners, in ms.
 *
 * @param looks who looks for jobs without a marker meanwhile; undefined if the wait must end for that
 */
export function longestWaitMs(runners: readonly QueueRunner[], looks: 'worker' | 'fleet' | undefined): number {
  if (looks === 'fleet') {
    return LONGEST_WAIT_IN_FLEET_MS;
  }
  const shares = runners.map(({ queue }) => WAIT_SHARE * queue.options.visibilityMs);
  return Math.min(looks ? LONGEST_WAIT_FOR_MANY_MS : LONGEST_WAIT_MS, ...shares);
}
