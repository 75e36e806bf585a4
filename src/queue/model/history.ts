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
  /** Jobs that were added. */
  enqueued: number;
  /** Jobs that completed. */
  completed: number;
  /** Jobs that became dead letters. */
  failed: number;
  /** Jobs that were cancelled. */
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
  /** The median, in ms; null without a job. */
  p50: number | null;
  /** What 95 % stayed below, in ms; null without a job. */
  p95: number | null;
  /** What 99 % stayed below, in ms; null without a job. */
  p99: number | null;
}

/** The figures of one step of time. */
export interface HistoryPoint extends HistoryCounts {
  /** When the step begins, by the server's clock. */
  at: Date;
  /** The most jobs that were seen waiting at the end of a minute; null where nobody looked. */
  pending: number | null;
  /** Jobs that ran at its end; null where nobody looked. */
  processing: number | null;
  /** How long the oldest job had waited at its end, in ms; null where nobody looked. */
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
  /** Deploys and outages, the oldest first. */
  marks: HistoryMark[];
}
