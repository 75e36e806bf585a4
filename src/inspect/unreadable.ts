import { QueueLayoutError, RedisUnsuitableError } from '../queue/errors/errors.js';
import { oneLine } from '../queue/errors/show.js';
import {
  RedisKeyTypeError,
  wrongKeysInWords,
  wrongKeysRemedy,
  RedisPermissionError,
} from '../queue/errors/redis-errors.js';
import type { JobQueue } from '../queue/job-queue.js';
import { within } from '../queue/runtime/waits.js';
import type { QueueVerdict } from './queue-signs.js';
import type { Finding } from './rule.js';

const LONGEST_REASON = 400;

/** The time of a read that a window goes on without, in ms. For example of a shard. */
export const OPTIONAL_MS = 2_000;

/** The next steps without a command of their own. The dashboard has one for each. */
export const UPGRADE = 'upgrade nest-job-queue here';
export const GRANT = 'grant the permissions with ACL SETUSER, or use another user';

type Words = Pick<Finding, 'summary' | 'cause' | 'next'>;

/**
 * Returns the verdict on an unreadable queue: its keys have a newer layout, are damaged, or are not allowed.
 *
 * @throws the error itself if it has another cause
 */
export function unreadable(queue: string, error: unknown): QueueVerdict {
  const words = ofLayout(error) ?? ofKeys(error) ?? ofPermissions(error);
  if (!words) {
    throw error;
  }
  return { queue, severity: 'warning', state: 'unreadable', ...words };
}

/**
 * Returns the verdict on an unreadable queue, whatever the cause. For a queue that the app does not depend on.
 *
 * @param tell returns the words for another cause
 */
export function unreadableByAny(
  queue: string,
  error: unknown,
  tell: (error: Error) => string = ({ message }) => message,
): QueueVerdict {
  try {
    return unreadable(queue, error);
  } catch {
    const reason = oneLine(error instanceof Error ? tell(error) : String(error), LONGEST_REASON).replace(/\.$/, '');
    return { queue, severity: 'warning', state: 'unreadable', summary: `unreadable: ${reason}` };
  }
}

/** Waits for a reply of a queue whose master may be silent. @throws the error of the call, or that it took too long */
export function inTime<Reply>({ name, store }: JobQueue, call: Promise<Reply>): Promise<Reply> {
  return within(store.clock, OPTIONAL_MS, call, () => {
    throw new RedisUnsuitableError(`Queue "${name}" gave no reply within ${OPTIONAL_MS / 1_000} s.`);
  });
}

/** Waits for a list of a queue's records. Returns an empty one if the queue is unreadable. */
export function noneIfUnreadable<Each>(queue: string, reading: Promise<readonly Each[]>): Promise<readonly Each[]> {
  return reading.catch((error: unknown) => {
    unreadable(queue, error);
    return [];
  });
}

function ofLayout(error: unknown): Words | undefined {
  return error instanceof QueueLayoutError
    ? {
        summary: `unreadable: its keys have layout ${error.found}, and this version knows up to ${error.known}`,
        cause: 'a newer version of nest-job-queue wrote them',
        next: UPGRADE,
      }
    : undefined;
}

function ofKeys(error: unknown): Words | undefined {
  return error instanceof RedisKeyTypeError
    ? {
        summary: `unreadable: ${oneLine(wrongKeysInWords(error.wrong), LONGEST_REASON)}`,
        cause: 'another program writes keys with the prefix of this queue',
        next: wrongKeysRemedy(error.wrong),
      }
    : undefined;
}

function ofPermissions(error: unknown): Words | undefined {
  return error instanceof RedisPermissionError
    ? {
        summary: `unreadable: the Redis user may not use ${error.missing.join(', ')}`,
        next: GRANT,
      }
    : undefined;
}
