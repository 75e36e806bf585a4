// The version of the keys in Redis, so that a process that does not know it leaves the keys alone.
import { QueueLayoutError } from '../errors/errors.js';

/**
 * The layout that this version of the library reads and writes. It grows when a stored format changes, because
 * an older version would read the new texts wrongly. docs/internals/formats.md lists them.
 */
export const LAYOUT = 2;

/** The oldest layout whose keys this version can use. */
export const OLDEST_LAYOUT = 2;

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
  if (found > 0 && found < OLDEST_LAYOUT) {
    throw new QueueLayoutError(queue, found, OLDEST_LAYOUT);
  }
}
