import type { AttemptLimits, LeftJobs, OnlyNames } from '../../queue/store/attempt-forms.js';

/** The time without a job of another name after which the queue is claimed from normally, in ms. */
const QUIET_MS = 60_000;

/** The pause after a slice of a pass over the queue that had no job for this worker, in ms. */
const SLICE_PAUSE_MS = 2;

/** The pause between two claims, in ms, while jobs wait here that another live worker handles. */
const POLL_MS = 100;

/** The least pause between two passes over the whole queue, in ms. */
const PASS_PAUSE_MS = 2_000;

/** The least pause after a pass, as a multiple of its duration. */
const PASS_PAUSE_FACTOR = 20;

/** The most remembered names of other workers. */
const MOST_NAMES = 100;

/**
 * Keeps a worker that handles only some names of a queue from claiming the others repeatedly. After it met another name
 * it claims only its own names, and the other jobs keep their places. Each claim reads the front, the back and a slice
 * between them. Passes over the whole queue are bounded in time.
 */
export class NameFilter {
  private metAt = -Infinity;
  private cursor = 0;
  private passBeganAt = 0;
  private nextPassAt = 0;
  private readonly names = new Set<string>();

  /** @param limits of all handlers of this worker, by name */
  constructor(
    private readonly limits: readonly AttemptLimits[],
    private readonly now: () => number,
  ) {}

  /** The names that the next claim asks for; undefined while it claims any job. */
  get only(): OnlyNames | undefined {
    const now = this.now();
    if (now - this.metAt > QUIET_MS) {
      return undefined;
    }
    if (this.cursor === -1 && now >= this.nextPassAt) {
      this.cursor = 0;
      this.passBeganAt = now;
    }
    return { limits: this.limits, cursor: this.cursor };
  }

  /** Records that a claim brought a job of another name. Returns whether this name is new, up to a number of names. */
  met(name: string): boolean {
    const now = this.now();
    if (now - this.metAt > QUIET_MS) {
      this.cursor = 0;
      this.passBeganAt = now;
    }
    this.metAt = now;
    const isNew = !this.names.has(name) && this.names.size < MOST_NAMES;
    return isNew && this.names.add(name).has(name);
  }

  /**
   * Records which jobs a claim left to others. Returns the pause until the next claim, in ms, or undefined if it must wait
   * for a wake-up.
   *
   * @param found how many jobs it brought
   */
  looked({ cursor, elsewhere, unserved }: LeftJobs, found: number): number | undefined {
    const now = this.now();
    if (elsewhere || unserved.length > 0) {
      this.metAt = now;
    }
    if (cursor === -1 && this.cursor !== -1) {
      this.nextPassAt = now + Math.max(PASS_PAUSE_MS, PASS_PAUSE_FACTOR * (now - this.passBeganAt));
    }
    const isHeld = found === 0 && cursor === this.cursor; // a limit lets none of its jobs start
    this.cursor = cursor;
    if (cursor !== -1 && !isHeld) {
      return found > 0 ? 0 : SLICE_PAUSE_MS;
    }
    return elsewhere ? POLL_MS : undefined;
  }
}
