import type { Histogram } from './histogram.js';

/** A moment that explains a change of the figures. */
export interface HistoryMark {
  /** `deploy`: a version of the app began to maintain or serve the queue. `outage`: nobody maintained it. */
  kind: 'deploy' | 'outage';
  /** Of an outage: since when. */
  at: Date;
  /** Of an outage: its end. */
  endedAt?: Date;
  /** Of a deploy: the version. */
  version?: string;
}

/** One entry of the history: a minute, or more where nobody closed them one by one. */
export interface StoredMinute {
  id: string;
  /** When it ends, in ms since 1970. */
  endMs: number;
  /** How many minutes it stands for. */
  minutes: number;
  counts: HistoryCounts;
  pending: number;
  processing: number;
  oldestPendingAgeMs: number;
  wait: Histogram;
  run: Histogram;
}

/** What happened to jobs in a time, by the counters of the queue. */
export interface HistoryCounts {
  enqueued: number;
  completed: number;
  /** Jobs that became dead letters. */
  failed: number;
  cancelled: number;
  /** Attempts that failed and are tried again. */
  retried: number;
  /** Claims of dead workers that were taken back. */
  reclaimed: number;
}

/** Quantiles in ms, each within 10 % from 1 ms to 24 h; null where nothing was measured. */
export interface HistoryQuantiles {
  /** How many were measured. */
  count: number;
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

/** The figures of one step of time. */
export interface HistoryPoint extends HistoryCounts {
  /** When the step begins, by the server's clock. */
  at: Date;
  /** The most jobs that were seen waiting at the end of a minute; null where nobody looked. */
  pending: number | null;
  processing: number | null;
  oldestPendingAgeMs: number | null;
  /** From when a job could be claimed to its first claim. */
  wait: HistoryQuantiles;
  /** From the call of the handler to its end. */
  run: HistoryQuantiles;
}

/** The figures of a queue over a time. */
export interface HistoryReport {
  /** When it was read, by the server's clock. */
  at: Date;
  /** The length of a step, in ms. */
  stepMs: number;
  /** One for each step of which something is known, oldest first. The minute that is not over is missing. */
  points: HistoryPoint[];
  /** The same over the whole time; undefined where nothing was recorded. */
  total: HistoryPoint | undefined;
  marks: HistoryMark[];
}
