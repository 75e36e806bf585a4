// Has a file of its own, because it needs nothing of Nest. So both formats share it, and it loads the outbox at its first use.
import { requiredOutbox } from '../../queue/results/store-jobs.js';
import type { OutboxWriter } from '../../queue/store/outbox-writer.js';
import type { Job } from '../../worker/handlers/job.js';

/** The part of a job that tells it from all others. */
export type OnceJob = Pick<Job, 'queue' | 'id' | 'enqueuedAt'>;

/** The outcome of work that runs once: its value, or that an earlier transaction did it. */
export type OnceOutcome<Value> = { ran: true; value: Value } | { ran: false };

/**
 * Runs the database work of a job once. The transaction notes that it was done. If an earlier transaction did, the work
 * is skipped. Rejects with an InvalidOptionError for something else than an open transaction, and with the error of the work.
 *
 * @example await this.db.transaction((tx) => this.jobs.once(tx, job, () => tx.increment(Stock, { id }, 'count', 1)));
 */
export type Once = <Value>(
  transaction: object,
  job: OnceJob,
  work: () => Promise<Value>,
) => Promise<OnceOutcome<Value>>;

/** Returns the verb for an app. */
export function onceIn(outboxOf: () => OutboxWriter | undefined): Once {
  return async (transaction, job, work) => {
    const outbox = requiredOutbox('once', outboxOf());
    // An id of the caller may come again, as another job.
    const isFirst = await outbox.markDone(transaction, job.queue, `${job.id}@${job.enqueuedAt.getTime()}`);
    return isFirst ? { ran: true, value: await work() } : { ran: false };
  };
}
