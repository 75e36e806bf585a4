// The limits that queues share, on the page. Types only: both sides import them.

/** A limit that queues share. The names of queues that the viewer may not see are left out. */
export interface SharedLimitView {
  name: string;
  /** The queues whose workers name it, by name. */
  queues: string[];
  maxRunning: number | null;
  rates: { limit: number; periodMs: number; burst?: number }[];
  /** True if its values were set at run time, so that they override those of the code. */
  isSet: boolean;
  /** The number of jobs that run, also those of hidden queues. */
  running: number;
  /** The jobs of each queue, the most first. */
  holders: { queue: string; permits: number; workers: number }[];
  /** The queues that wait for it, the first first. */
  waiting: string[];
  /** When its rates let the next job start; null: now. */
  nextStartAt: number | null;
  restsUntil: number | null;
  pausedAt: number | null;
  /** When the pause ends by itself; null if somebody must resume the limit. */
  pausedUntil: number | null;
  pausedBy: string | null;
  pauseReason: string | null;
}
