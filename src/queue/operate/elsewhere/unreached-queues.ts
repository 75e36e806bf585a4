import { LARGEST_PAGE } from '../../runtime/bounds.js';
import { groupBy } from '../../runtime/collections.js';

/** Names the queue that an error came from. */
interface Blame {
  /** Returns the queue whose call has raised an error; undefined for a call that goes another way. */
  raiserOf(error: unknown): string | undefined;
}

/** The queues that failed or took nothing in one run. The run calls each of them no more, so it goes on with the others. */
export class UnreachedQueues {
  private readonly errors = new Map<string, unknown>();
  private readonly left = new Set<string>();

  /**
   * @param home the queue of the run
   * @param blame knows the errors of the calls to other queues; every other error is of `home`
   */
  constructor(
    private readonly home: string,
    private readonly blame: Blame,
  ) {}

  /**
   * Calls each queue of some items with its items, unless a call for it has failed. Returns the sum of what the calls
   * return.
   */
  async callOthers<Item extends { queue: string }>(
    items: readonly Item[],
    call: (queue: string, items: readonly Item[]) => Promise<number>,
  ): Promise<number> {
    let sum = 0;
    for (const [name, each] of groupBy(items, ({ queue }) => queue)) {
      if (!this.left.has(name)) {
        try {
          sum += await call(name, each);
        } catch (error) {
          this.note(name, error);
        }
      }
    }
    return sum;
  }

  /** Leaves out a queue that takes nothing now, which is no error. */
  leave(name: string): void {
    this.left.add(name);
  }

  /** The names of the first thousand queues that the run calls no more. They are enough for one call. */
  get names(): string[] {
    return [...this.left].slice(0, LARGEST_PAGE);
  }

  /** The number of queues that the run calls no more. */
  get size(): number {
    return this.left.size;
  }

  /** The queues that have raised an error, each with its first. */
  get all(): ReadonlyMap<string, unknown> {
    return this.errors;
  }

  private note(name: string, error: unknown): void {
    this.left.add(name);
    const raiser = this.blame.raiserOf(error) ?? this.home;
    if (!this.errors.has(raiser)) {
      this.errors.set(raiser, error);
    }
  }
}
