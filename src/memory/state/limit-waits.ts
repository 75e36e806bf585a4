// The waits of free slots for a rate or a rest, each counted once; see lua/lib/limits/timer.lua.

/** The time that another worker may keep longer, in ms. */
const SLACK_MS = 100;

export class LimitWaits {
  private opensAt = 0;
  private holder: string | undefined;

  /** Notes that a worker's free slot waits. Returns whether this is another wait than the one before. */
  isAnother(worker: string, opensAt: number, now: number): boolean {
    const { holder, opensAt: before } = this;
    if (holder !== undefined && holder !== worker && before + SLACK_MS > now && before <= opensAt + 10) {
      return false;
    }
    this.opensAt = opensAt;
    this.holder = worker;
    return before <= now || opensAt > before + SLACK_MS;
  }

  /** Lets another worker keep the time, because this one has no free slot left. */
  handOver(): void {
    this.holder = undefined;
  }

  /** Forgets the wait, because the limits have changed. */
  clear(): void {
    this.opensAt = 0;
    this.holder = undefined;
  }
}
