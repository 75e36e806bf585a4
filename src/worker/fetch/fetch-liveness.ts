/**
 * Measures the time since Redis last answered a fetch of a worker. It stops while all slots are busy, so that a long
 * job does not look like a hanging worker.
 */
export class FetchLiveness {
  private lastReply: number | undefined;
  private full = false;

  constructor(private readonly now: () => number) {}

  answered(): void {
    this.lastReply = this.now();
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
    return this.lastReply === undefined ? undefined : Math.round(this.now() - this.lastReply);
  }
}
