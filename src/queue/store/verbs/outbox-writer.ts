// The table of an app's database that keeps jobs until their transaction has committed; see src/outbox.
import type { EncodedJob } from '../enqueue-call.js';

/** An open transaction of a database client, such as its transaction object or its query function. */
export type TransactionHandle = object;

/** Writes jobs into the table, in a transaction of the caller. */
export interface OutboxWriter {
  /**
   * Writes checked jobs of one queue.
   *
   * @throws InvalidOptionError for something else than an open transaction
   */
  store(transaction: TransactionHandle, queue: string, jobs: readonly EncodedJob[]): Promise<void>;
  /**
   * Notes in the transaction that a job's work was done. Returns false if an earlier transaction did.
   *
   * @throws InvalidOptionError for something else than an open transaction
   */
  markDone(transaction: TransactionHandle, queue: string, job: string): Promise<boolean>;
}
