import type { Histogram } from '../runtime/histogram.js';

/** A moment that explains a change of the figures. */
export interface HistoryMark {
  /**
   * `deploy`: a version of the app began to maintain or serve the queue. `outage`: no process maintained it. `death`: a
   * worker died while it ran jobs, and they were reclaimed.
   */
  kind: 'deploy' | 'outage' | 'death';
  /** The time of the mark; for an outage its beginning. */
  at: Date;
  /** The end of an outage. */
  endedAt?: Date;
  /** The version of a deploy. */
  version?: string;
  /** The worker of a death. */
  death?: WorkerDeath;
}

/** A worker that died while it ran jobs. */
export interface WorkerDeath {
  /** The id of the worker. */
  worker: string;
  /** How its end became known: its claim expired, or its process ended. With the uncaught error, if it sent one. */
  how: string;
  /** The number of its jobs that were reclaimed together. */
  jobs: number;
  /** The first five of them. */
  ran: { id: string; name: string }[];
}

/** An entry of the history: a minute, or several that were closed together. */
export interface StoredMinute {
  id: string;
  /** Its end, in ms since 1970. */
  endMs: number;
  /** The number of its minutes. */
  minutes: number;
  counts: HistoryCounts;
  pending: number;
  processing: number;
  oldestPendingAgeMs: number;
  wait: Histogram;
  run: Histogram;
}

/** The counts of a period, from the counters of the queue. */
export interface HistoryCounts {
  /** Added jobs. */
  enqueued: number;
  /** Jobs that completed. */
  completed: number;
  /** Jobs that became dead letters. */
  failed: number;
  /** Cancelled jobs. */
  cancelled: number;
  /** Attempts that failed and are tried again. */
  retried: number;
  /** Reclaimed claims of dead workers. */
  reclaimed: number;
}

/** Quantiles in ms, each within 10 % from 1 ms to 24 h; null where nothing was measured. */
export interface HistoryQuantiles {
  /** The number of measured jobs. */
  count: number;
  /** The median, in ms; null without a job. */
  p50: number | null;
  /** The time that 95 % stayed below, in ms; null without a job. */
  p95: number | null;
  /** The time that 99 % stayed below, in ms; null without a job. */
  p99: number | null;
}

/** The figures of one step of time. */
export interface HistoryPoint extends HistoryCounts {
  /** The beginning of the step, by the server's clock. */
  at: Date;
  /** The most waiting jobs at the end of a minute; null if unknown. */
  pending: number | null;
  /** The running jobs at its end; null if unknown. */
  processing: number | null;
  /** The age of the oldest waiting job at its end, in ms; null if unknown. */
  oldestPendingAgeMs: number | null;
  /** The time from when a job could be claimed to its first claim. */
  wait: HistoryQuantiles;
  /** The time from the call of the handler to its end. */
  run: HistoryQuantiles;
}

/** The figures of a queue over a time. */
export interface HistoryReport {
  /** The time of the read, by the server's clock. */
  at: Date;
  /** The length of a step, in ms. */
  stepMs: number;
  /** A point for each step with known figures, oldest first. The current minute is missing. */
  points: HistoryPoint[];
  /** The same over the whole time; undefined where nothing was recorded. */
  total: HistoryPoint | undefined;
  /** Deploys, outages and dead workers, the oldest first. */
  marks: HistoryMark[];
  /** The counters of the queue when its last minute was closed; absent where nothing was recorded. */
  closed?: { at: Date; totals: Readonly<Record<string, number>> };
}
