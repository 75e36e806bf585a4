// The table of an app's database that keeps jobs until their transaction has committed; see src/outbox.
import type { EncodedJob } from './enqueue-call.js';

/** An open transaction of a database client, such as its transaction object or its query function. */
export type TransactionHandle = object;

/** The transaction of an enqueue, and what it does for the order of its jobs. */
export interface StoredIn {
  /** An open transaction. */
  transaction: TransactionHandle;
  /** True if the jobs of a group are added in the order of the commits. */
  ordered?: boolean;
}

/** The state of the table. */
export interface OutboxSigns {
  /** The rows that wait for their jobs, up to 10,000. */
  waiting: number;
  /** Those of them that were refused, and wait for their next attempt. */
  setAside: number;
  /** The rows that were refused too often. */
  failed: number;
  /** The age of the oldest waiting row, in ms. */
  oldestAgeMs: number;
  /** The reason why rows wait, as far as this process knows it. */
  trouble?: string;
  /** The time since when it has known this reason, in ms. */
  troubledForMs?: number;
}

/** A row of the table, as it is shown. */
export interface OutboxRecord {
  /** The number of the row. Rows leave in this order. */
  seq: string;
  /** The id of its job. */
  id: string;
  /** The queue of its job. */
  queue: string;
  /** The name of its job. */
  name: string;
  /** The attempts to send it. */
  attempts: number;
  /** The time since its insert, in ms, by the database's clock. */
  ageMs: number;
  /** The reason of the last refusal. */
  lastError: string | undefined;
  /** True if it was refused too often, and waits for `retry`. */
  isFailed: boolean;
}

/** The rows of one connection, to look at and to steer. */
export interface OutboxRows {
  /** Returns rows, the failed and refused ones first. */
  list(limit: number): Promise<OutboxRecord[]>;
  /** Lets refused and failed rows of a queue be sent again at once. Returns how many. */
  retry(queue: string, seqs: readonly string[]): Promise<number>;
  /** Deletes failed rows of a queue, whose jobs are never added. Returns how many. */
  discard(queue: string, seqs: readonly string[]): Promise<number>;
}

/** Writes jobs into the table, in a transaction of the caller. */
export interface OutboxWriter {
  /**
   * Writes checked jobs of one queue.
   *
   * @throws InvalidOptionError for something else than an open transaction
   */
  store(stored: StoredIn, queue: string, jobs: readonly EncodedJob[]): Promise<void>;
  /**
   * Notes in the transaction that a job's work was done. Returns false if an earlier transaction did.
   *
   * @throws InvalidOptionError for something else than an open transaction
   */
  markDone(transaction: TransactionHandle, queue: string, job: string): Promise<boolean>;
  /** Reads the state of the table; undefined if this process may not. Absent where there is none. */
  signs?(): Promise<OutboxSigns | undefined>;
  /** Its rows, which a process without a right to read them cannot list. Absent where there is no table. */
  readonly rows?: OutboxRows;
  /** The number of rows that this process has moved, by queue. Absent where there is no table. */
  readonly relayed?: ReadonlyMap<string, number>;
}
