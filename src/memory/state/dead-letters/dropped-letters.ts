/** The time between two reports of deleted dead letters, in ms; see lua/lib/retention/report_dropped.lua. */
const REPORT_PACE_MS = 60_000;

/** The dead letters that `deadLetterCap` deleted. */
export class DroppedLetters {
  /** The time of the last one. */
  at: number | undefined;
  private unreported = 0;
  private reportedAt: number | undefined;

  add(now: number): void {
    this.at = now;
    this.unreported++;
  }

  /** Returns how many were deleted since the last report, at most once a minute. */
  report(now: number): number {
    const { reportedAt, unreported } = this;
    if (unreported === 0 || (reportedAt !== undefined && reportedAt <= now && now - reportedAt < REPORT_PACE_MS)) {
      return 0;
    }
    this.reportedAt = now;
    this.unreported = 0;
    return unreported;
  }
}
