/** The budget of a claim at the start, in bytes. */
const FIRST_BYTES = 256 * 1_024;

/** Bounds of the budget, in bytes. A claim brings its first job in any case. */
const LEAST_BYTES = 16 * 1_024;
const MOST_BYTES = 4 * 1_024 * 1_024;

/** A reply that fills the budget within this time has more room next time, in ms. */
const QUICK_MS = 250;

/** After a reply that took longer, in ms, the budget shrinks, because settlements and heartbeats wait behind it. */
const SLOW_MS = 2_000;

/**
 * The payload bytes that the claims of one connection may bring at a time. The budget follows the speed of the link:
 *
 * | state | event | next |
 * |---|---|---|
 * | any | a full reply came quickly | twice as much |
 * | any | a reply was slow | half as much |
 * | any | the connection was cut before the reply | half of what was asked for |
 */
export class ClaimBudget {
  private most = FIRST_BYTES;

  /** The budget in bytes. */
  get bytes(): number {
    return this.most;
  }

  /** @param isFull whether more jobs waited than the bytes allowed */
  answered(tookMs: number, isFull: boolean): void {
    if (tookMs > SLOW_MS) {
      this.limit(this.most / 2);
    } else if (isFull && tookMs < QUICK_MS) {
      this.limit(this.most * 2);
    }
  }

  /**
   * Returns what to ask for again after a cut. Several claims of one trip lower it once.
   *
   * @param askedBytes the budget when it was asked for
   */
  afterCut(askedBytes: number): number {
    this.limit(Math.min(this.most, askedBytes / 2));
    return this.most;
  }

  private limit(bytes: number): void {
    this.most = Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.floor(bytes)));
  }
}
