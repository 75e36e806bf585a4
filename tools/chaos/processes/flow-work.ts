// The work of the queue with limits, groups and batches. A batch has three jobs, which run one at a time in groups. While it
// runs, the first of them adds one more to the batch, which is sealed by then. A follow-up comes after all of them.
import type { QueueOptions } from '#queue/model/queue-options.js';
import type { Random } from '../random.js';
import { queueOptions, type Kind } from './workload.js';

/** Jobs at once over all workers. */
export const MAX_RUNNING = 4;

/** Members of a batch that its producer adds. The next number is that of the member which the first one adds. */
export const MEMBERS = 3;
const GROUPS = 4;

/** The numbers that a batch takes, for its members and its follow-up, which has the last one. */
export const BATCH_NUMBERS = MEMBERS + 2;

export function flowOptions(): QueueOptions {
  return {
    ...queueOptions(false),
    maxRunning: MAX_RUNNING,
    rateLimit: { limit: 500, periodMs: 1_000, burst: 20 },
    groups: { maxRunning: 1 },
  };
}

/** Returns the group of a job; follow-ups and added members have none. */
export function groupOf(number: number): string | undefined {
  return number % BATCH_NUMBERS < MEMBERS ? `group-${number % GROUPS}` : undefined;
}

export function isFollowUp(number: number): boolean {
  return number % BATCH_NUMBERS === BATCH_NUMBERS - 1;
}

/** Draws the kind of a job. Failures must keep the order of a group, and count as the end of a member. */
export function drawKind(random: Random): Kind {
  const spot = random.next();
  if (spot < 0.02) return 'error';
  if (spot < 0.03) return 'final';
  return spot < 0.035 ? 'slow' : 'plain';
}
