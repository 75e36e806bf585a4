// The verbs of batches with a follow-up; see lua/batch.
import type { BatchNews, BatchPage, BatchRecord, EncodedBatch } from '../../model/batch.js';
import type { StoreCall } from '../store-call.js';

/** The work that maintenance of a queue's batches left. */
export interface TendReply {
  /** True if it used up its limit. */
  more: boolean;
  /** True if the outbox holds news. */
  hasNews: boolean;
  /** Jobs that became dead letters, because a job of their `after` did not end well. */
  failed: string[];
  /** Members in other queues that must be cancelled. */
  toCancel: { queue: string; id: string }[];
}

export interface BatchVerbs {
  create(batch: EncodedBatch): StoreCall<'created' | 'exists'>;
  /** @param members jobs of other queues, each as refTo returns it */
  join(id: string, members: readonly string[]): StoreCall<'joined' | 'stopped' | 'sealed' | 'no-batch'>;
  seal(id: string): StoreCall<'sealed' | 'missing'>;
  stop(id: string): StoreCall<'stopped' | 'fired' | 'missing'>;
  status(id: string): StoreCall<BatchRecord | null>;
  /** Returns some unfinished batches. */
  list(limit: number): StoreCall<BatchRecord[]>;
  results(id: string, offset: number, limit: number): StoreCall<BatchPage | null>;
  /** Returns some of the news for batches in other queues. */
  outbox(limit: number): StoreCall<BatchNews[]>;
  /** Returns how many changed something. */
  deliver(from: string, news: readonly BatchNews[]): StoreCall<number>;
  acknowledge(news: readonly BatchNews[]): StoreCall<number>;
  /** Asks for the cancel of members here of a batch in another queue. */
  cancel(ids: readonly string[]): StoreCall<void>;
}
