import { LARGEST_PAGE } from '../../runtime/bounds.js';
import { groupBy } from '../../runtime/group-by.js';

/** The queues whose calls failed in one run. The run calls each of them no more, so it goes on with the others. */
export class UnreachedQueues {
  private readonly errors = new Map<string, unknown>();

  /**
   * Calls each queue of some items with its items, unless a call of it has failed. Returns the sum of what the calls
   * return.
   */
  async callOthers<Item extends { queue: string }>(
    items: readonly Item[],
    call: (queue: string, items: readonly Item[]) => Promise<number>,
  ): Promise<number> {
    let sum = 0;
    for (const [name, each] of groupBy(items, ({ queue }) => queue)) {
      if (!this.errors.has(name)) {
        try {
          sum += await call(name, each);
        } catch (error) {
          this.errors.set(name, error);
        }
      }
    }
    return sum;
  }

  /** The names of the first thousand queues, which are enough for one call. */
  get names(): string[] {
    return [...this.errors.keys()].slice(0, LARGEST_PAGE);
  }

  /** The queues, each with its first error. */
  get all(): ReadonlyMap<string, unknown> {
    return this.errors;
  }
}
