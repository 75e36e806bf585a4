import type { HistoryMark, StoredMinute } from '../../model/history.js';
import type { StoreCall } from '../store-call.js';

/** The figures that close a minute of the history. */
export interface MinuteReading {
  pending: number;
  processing: number;
  oldestPendingAgeMs: number;
  /** The version of the app that closes it; '' for none. */
  version: string;
  /** An outage: no process maintained the queue for longer than this, in ms. */
  gapMs: number;
}

/** The stored history from `sinceMs` to `closedAtMs`. Both are undefined if nothing was recorded. */
export interface HistorySlice {
  nowMs: number;
  sinceMs: number | undefined;
  closedAtMs: number | undefined;
  entries: StoredMinute[];
  /** Only in the first slice. */
  marks: HistoryMark[];
  /** The counters of the queue when its last minute was closed. */
  closedTotals: Readonly<Record<string, number>>;
}

/** The verbs of the history of minutes. */
export interface HistoryVerbs {
  /** Returns whether the batch was new. @param counts pairs of field and count, see DurationCounts */
  addDurations(worker: string, batch: string, counts: readonly (string | number)[]): StoreCall<boolean>;
  /** Returns in how many ms the next minute is over. */
  closeMinute(reading: MinuteReading): StoreCall<number>;
  /**
   * Returns the same, and 0 where the last minute is still to be closed.
   *
   * @param begins false to change nothing in a queue without a history
   */
  reportVersion(version: string, begins?: boolean): StoreCall<number>;
  /** @param after the `id` of the entry after which to continue; undefined for the first slice */
  read(backMs: number, after: string | undefined, most: number): StoreCall<HistorySlice>;
}
