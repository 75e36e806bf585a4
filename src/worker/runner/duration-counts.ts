import { bucketOf } from '../../queue/model/histogram.js';
import type { Attempt } from '../attempt/attempt.js';

/**
 * Counts in buckets how long the jobs of a queue waited and ran in this process. The history takes the counts.
 */
export class DurationCounts {
  private counts = new Map<string, number>();

  /** Adds an attempt whose handler has ended. The wait is that of a job's first attempt, from when it could be claimed. */
  add({ job, startedAtMs }: Pick<Attempt, 'job' | 'startedAtMs'>, nowMs: number): void {
    if (startedAtMs === undefined) {
      return; // its handler was never called
    }
    this.count('r', nowMs - startedAtMs);
    const readyAtMs = job.readyAt.getTime();
    if (job.attempt === 1 && readyAtMs > 0) {
      this.count('w', job.claimedAt.getTime() - readyAtMs);
    }
  }

  /** Returns the counts since the last call, as pairs of field and count; empty if there are none. */
  take(): (string | number)[] {
    const taken = [...this.counts].flat();
    if (taken.length > 0) {
      this.counts = new Map();
    }
    return taken;
  }

  private count(kind: 'w' | 'r', ms: number): void {
    const field = kind + bucketOf(ms);
    this.counts.set(field, (this.counts.get(field) ?? 0) + 1);
  }
}
