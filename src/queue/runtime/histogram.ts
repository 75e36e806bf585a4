// Times in buckets whose bounds grow by a fifth. A quantile from 1 ms to 24 h is at most 9.6 % off.

const RATIO = 1.2;
const LOG_RATIO = Math.log(RATIO);
const LONGEST_MS = 86_400_000;

/** The last bucket: everything longer than 24 h. */
export const LAST_BUCKET = bucketOf(LONGEST_MS) + 1;

/** Returns the bucket of a time. 0 is for less than 1 ms. */
export function bucketOf(ms: number): number {
  if (!(ms >= 1)) {
    return 0;
  }
  return ms > LONGEST_MS ? LAST_BUCKET : 1 + Math.floor(Math.log(ms) / LOG_RATIO);
}

/** Returns the time that represents a bucket: the geometric middle of its bounds. */
export function valueOf(bucket: number): number {
  return bucket === 0 ? 0 : Math.min(LONGEST_MS, RATIO ** (bucket - 0.5));
}

/** Counts times by bucket. */
export class Histogram {
  private readonly counts = new Map<number, number>();
  count = 0;

  /** @param text `bucket:count,…`, as Redis keeps it */
  static parse(text: string): Histogram {
    const histogram = new Histogram();
    for (const part of text === '' ? [] : text.split(',')) {
      const [bucket, count] = part.split(':');
      histogram.add(Number(bucket), Number(count));
    }
    return histogram;
  }

  add(bucket: number, count = 1): void {
    this.counts.set(bucket, (this.counts.get(bucket) ?? 0) + count);
    this.count += count;
  }

  merge(other: Histogram): this {
    other.counts.forEach((count, bucket) => this.add(bucket, count));
    return this;
  }

  /** Returns the time at or below which that share of all times is, in ms. Null without times. */
  quantile(quantile: number): number | null {
    const rank = Math.max(1, Math.ceil(quantile * this.count));
    let seen = 0;
    for (const [bucket, count] of [...this.counts].toSorted(([a], [b]) => a - b)) {
      seen += count;
      if (seen >= rank) {
        return valueOf(bucket);
      }
    }
    return null;
  }
}
