import { LARGEST_PAGE } from '../../queue/runtime/bounds.js';

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
