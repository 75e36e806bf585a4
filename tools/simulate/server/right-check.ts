// Checks the right to maintain. One process at a time has it, and nobody is refused it once it is over.

/** The right lasts for two intervals of the simulated maintenance, in ms. */
const RIGHT_MS = 2_000;

/** The shortest time between two rounds of a process, in ms. A process that gives a free right back does so once. */
const ROUND_MS = 500;

export class RightCheck {
  /** Who has each right, and until when, by the replies. */
  private holders = new Map<string, { process: string; untilMs: number }>();
  /** The first refusals of rights that nobody has, by right and process. */
  private refusedAt = new Map<string, number>();
  /** The time of the first call after the last jump of the clock. */
  private jumpedAtMs: number | undefined = 0;

  /**
   * Returns the faults of a call.
   *
   * @param set which right it asked for
   * @param isGranted its reply
   */
  after(set: string, process: string, isGranted: boolean, nowMs: number): string[] {
    this.jumpedAtMs ??= nowMs;
    const holder = this.holders.get(set);
    const isHeld = holder !== undefined && holder.untilMs > nowMs;
    if (isGranted) {
      this.holders.set(set, { process, untilMs: nowMs + RIGHT_MS });
      [...this.refusedAt.keys()]
        .filter((key) => key.startsWith(`${set} `))
        .forEach((key) => this.refusedAt.delete(key));
      return isHeld && holder.process !== process
        ? [`right: ${process} maintains ${set} beside ${holder.process}`]
        : [];
    }
    if (holder?.process === process) {
      this.holders.delete(set); // a holder is never refused, so it gave the right back
      return [];
    }
    return isHeld || nowMs < this.jumpedAtMs + RIGHT_MS ? [] : this.refused(set, process, nowMs);
  }

  /** Trusts no earlier reply, because the clock of the server has jumped. Rights from before may still hold. */
  forget(): void {
    this.holders = new Map();
    this.refusedAt = new Map();
    this.jumpedAtMs = undefined;
  }

  private refused(set: string, process: string, nowMs: number): string[] {
    const key = `${set} ${process}`;
    const firstMs = this.refusedAt.get(key) ?? nowMs;
    this.refusedAt.set(key, firstMs);
    return nowMs - firstMs >= ROUND_MS ? [`right: nobody maintains ${set}, and ${process} is refused`] : [];
  }
}
