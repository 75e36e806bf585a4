import { bucketOf, LAST_BUCKET } from '../../queue/runtime/histogram.js';
import { readyAtMsOf } from '../../queue/model/job.js';
import type { Attempt } from '../attempt/attempt.js';

/**
 * Counts in buckets how long the jobs of a queue waited and ran in this process. The history takes the counts. Each job
 * passes here, so a count is a number in an array.
 */
export class DurationCounts {
  private readonly waits = new Uint32Array(LAST_BUCKET + 1);
  private readonly runs = new Uint32Array(LAST_BUCKET + 1);
  private isEmpty = true;

  /** Adds an attempt whose handler has ended. The wait is that of a job's first attempt, from when it could be claimed. */
  add({ claim, startedAtMs }: Pick<Attempt, 'claim' | 'startedAtMs'>, nowMs: number): void {
    if (startedAtMs === undefined) {
      return; // its handler was never called
    }
    this.isEmpty = false;
    this.runs[bucketOf(nowMs - startedAtMs)]!++;
    const readyAtMs = readyAtMsOf(claim);
    if (claim.attempt === 1 && readyAtMs > 0) {
      this.waits[bucketOf(claim.claimedAtMs - readyAtMs)]!++;
    }
  }

  /** Returns the counts since the last call, as pairs of field and count; empty if there are none. */
  take(): (string | number)[] {
    if (this.isEmpty) {
      return []; // of thousands of idle queues, reading all buckets would cost most of all
    }
    this.isEmpty = true;
    return [...taken('r', this.runs), ...taken('w', this.waits)];
  }
}

/** Returns the counts of one kind, and sets them to zero. */
function taken(kind: 'w' | 'r', counts: Uint32Array): (string | number)[] {
  const pairs = [...counts].flatMap((count, bucket) => (count > 0 ? [`${kind}${bucket}`, count] : []));
  counts.fill(0);
  return pairs;
}
