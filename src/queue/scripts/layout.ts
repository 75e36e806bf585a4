// The version of the keys in Redis, so that a process that does not know it leaves the keys alone.
import { QueueLayoutError } from '../errors/layout-error.js';

/** The layout that this version of the library reads and writes. It grows when an older version could not work with the keys. */
export const LAYOUT = 1;

/** The field of the hash `sweep` in which workers announce the layout. */
export const LAYOUT_FIELD = 'layout';

/**
 * Checks a layout from Redis. A queue that no worker has announced has none.
 *
 * @throws QueueLayoutError
 */
export function checkLayout(queue: string, stored: unknown): void {
  const found = Number(stored ?? 0);
  if (found > LAYOUT) {
    throw new QueueLayoutError(queue, found, LAYOUT);
  }
}
