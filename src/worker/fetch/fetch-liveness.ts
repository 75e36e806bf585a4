/**
 * Measures the time since Redis last answered a fetch of a worker. It stops while all slots are busy, so that a long
 * job does not look like a hanging worker.
 */
export class FetchLiveness {
  private lastReply: number | undefined;
  private full = false;
  /** The ends of the long waits for jobs that are open, by the monotonic clock. */
  private readonly waits = new Set<{ readonly untilMs: number }>();

  constructor(private readonly now: () => number) {}

  answered(): void {
    this.lastReply = this.now();
  }

  /** Notes a long wait for jobs, which counts as a fetch until its time is over. Returns a function to call at its end. */
  waitsFor(ms: number): () => void {
    const wait = { untilMs: this.now() + ms };
    this.waits.add(wait);
    return () => this.waits.delete(wait);
  }

  /** Notes whether all slots are busy. Must be called whenever a slot was filled or freed. */
  noteSlots(full: boolean): void {
    if (this.full && !full) {
      this.answered(); // it can be asked for again only from now on
    }
    this.full = full;
  }

  /** The time in ms; 0 while all slots are busy, undefined before the first reply. */
  get sinceMs(): number | undefined {
    if (this.full) {
      return 0;
    }
    if (this.lastReply === undefined) {
      return undefined;
    }
    const now = this.now();
    const waited = [...this.waits].map(({ untilMs }) => Math.min(untilMs, now));
    return Math.round(now - Math.max(this.lastReply, ...waited));
  }
}
