import type { QueueVerdict } from '../../inspect/queue-signs.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { LARGEST_PAGE } from '../../queue/runtime/bounds.js';
import type { Gathered, ShownQueues } from '../shown-queues.js';

/** A list with more items than a page shows, some of which the viewer may not see. */
interface HidingList<Item> {
  /** Returns the first items, at most this many. */
  read(limit: number): Promise<readonly Item[]>;
  /** Leaves out the items that the viewer may not see. */
  visible(items: readonly Item[]): Promise<Item[]>;
}

/** Returns the first items that the viewer may see. Reads on, up to 1,000 items, if it may not see enough of them. */
export async function firstVisible<Item>(most: number, { read, visible }: HidingList<Item>): Promise<Item[]> {
  for (let limit = most; ; limit = Math.min(LARGEST_PAGE, limit * 5)) {
    const items = await read(limit);
    const seen = await visible(items);
    if (seen.length >= most || items.length < limit || limit === LARGEST_PAGE) {
      return seen.slice(0, most);
    }
  }
}

/** A list of each of several queues. */
interface HidingLists<Item> extends Omit<HidingList<Item>, 'read'> {
  /** Returns the first items of a queue, at most this many. */
  read(queue: JobQueue, limit: number): Promise<readonly Item[]>;
}

/**
 * Gathers of each queue the first items that the viewer may see. An error of the app's `can` ends it, because that says
 * nothing about the queue.
 */
export async function gatherVisible<Item>(
  queues: ShownQueues,
  names: readonly string[],
  most: number,
  { read, visible }: HidingLists<Item>,
): Promise<Gathered<Item>> {
  const unreadable: QueueVerdict[] = [];
  const listOf = (name: string) => ({
    read: (limit: number) => queues.readOrNote(name, read(queues.get(name), limit), unreadable),
    visible,
  });
  const found = await Promise.all(names.map((name) => firstVisible(most, listOf(name))));
  return { found: found.flat(), unreadable };
}
