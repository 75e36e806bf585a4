import type { DueSchedule } from '../store/verbs/schedule-verbs.js';

/** The most schedules to remember. */
const MOST_KNOWN = 1_000;

/**
 * Remembers which due times of schedules were right. Such a time stays right until the schedule is due, unless the
 * server's clock is set back.
 */
export class VerifiedDueTimes {
  private readonly known = new Map<string, { dueAtMs: number; version: string; atMs: number }>();

  /** The first schedule to verify in the next look. */
  offset = 0;

  /** Moves on by the schedules that were read. Begins again after the last. */
  advance(count: number): void {
    this.offset = count > 0 ? this.offset + count : 0;
  }

  holds({ id, dueAtMs, version }: DueSchedule, nowMs: number): boolean {
    const last = this.known.get(id);
    return last?.dueAtMs === dueAtMs && last.version === version && last.atMs <= nowMs;
  }

  note({ id, dueAtMs, version }: DueSchedule, nowMs: number): void {
    if (this.known.size >= MOST_KNOWN) {
      this.known.clear();
    }
    this.known.set(id, { dueAtMs, version, atMs: nowMs });
  }
}
