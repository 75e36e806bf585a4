import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import { JOB_STATUSES, type JobRecord, type JobStatus } from '../model/job.js';
import { outsideOfCaller } from '../runtime/clock.js';
import { keptIn } from '../runtime/collections.js';
import type { CancelOutcome, CancelReply } from '../store/call-outcomes.js';
import type { StatusCondition } from '../store/job-ref.js';
import type { QueueAccess, QueueStore } from '../store/queue-store.js';
import { checkKnown } from '../validation/validate-options.js';
import { deliverPosted } from './maintain-batches.js';

/** The most remembered calls without a reply. */
const MOST_UNANSWERED = 1_000;

/** Cancels jobs of one queue, and calls its listeners once with each cancelled waiting job. */
export class Canceller {
  private readonly listeners = new Set<(job: JobRecord) => void>();
  /** The request of each call without a reply, by job, so that its repeat is recognised as the cancelling call. */
  private readonly unanswered = new Map<string, string>();

  constructor(private readonly queue: QueueAccess) {}

  async cancel(id: string, ifStatus?: JobStatus): Promise<CancelOutcome> {
    const outcome = await deliverPosted(this.queue, await this.cancelBy(id, ifStatus), 'cancelled');
    if (outcome === 'requested') {
      const { key } = await this.queue.calls();
      CancelNotices.of(this.queue.store).publish(key, id);
    }
    return outcome;
  }

  private async cancelBy(id: string, ifStatus?: JobStatus): Promise<CancelReply> {
    if (this.listeners.size === 0) {
      return this.queue.exec((calls) => calls.cancel({ id, ifStatus }));
    }
    const repeated = this.unanswered.get(id);
    const request = repeated ?? this.queue.store.clock.randomId();
    try {
      const { outcome, cancelled } = await this.queue.exec((calls) =>
        calls.cancelAndReturn({ id, request, ifStatus }),
      );
      // Parallel repeats each return the job; only the first reply calls the listener.
      const first = repeated === undefined || this.forget(id, repeated);
      if (cancelled && first) {
        outsideOfCaller(() => this.listeners.forEach((listener) => listener(cancelled)));
      }
      return outcome;
    } catch (error) {
      if (repeated === undefined) {
        this.remember(id, request);
      }
      throw error;
    }
  }

  /** Returns the way to end that. @throws InvalidOptionError */
  listen(listener: (job: JobRecord) => void): () => void {
    if (typeof listener !== 'function') {
      throw new InvalidOptionError('onCancelled', 'a function', show(listener));
    }
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Remembers a request. The first of simultaneous calls stays, because a repeat of it may be in flight. */
  private remember(id: string, request: string): void {
    if (!this.unanswered.has(id)) {
      this.unanswered.set(id, request);
    }
    if (this.unanswered.size > MOST_UNANSWERED) {
      this.unanswered.delete(this.unanswered.keys().next().value!);
    }
  }

  /** Returns whether it was there. */
  private forget(id: string, request: string): boolean {
    return this.unanswered.get(id) === request && this.unanswered.delete(id);
  }
}

/**
 * Returns the required status, or undefined for any.
 *
 * @throws InvalidOptionError
 */
export function statusOf(verb: string, options: StatusCondition): JobStatus | undefined {
  checkKnown(verb, options, ['ifStatus']);
  const { ifStatus } = options;
  if (ifStatus !== undefined && !JOB_STATUSES.includes(ifStatus)) {
    throw new InvalidOptionError(`${verb}.ifStatus`, JOB_STATUSES.join(', '), show(ifStatus));
  }
  return ifStatus;
}

type Listener = (jobId: string) => void;

/** Notifies the workers of this process of cancelled running jobs at once. Other processes learn of them from Redis. */
export class CancelNotices {
  private static readonly known = new WeakMap<QueueStore, CancelNotices>();
  private readonly listeners = new Map<string, Set<Listener>>();

  static of(store: QueueStore): CancelNotices {
    return keptIn(CancelNotices.known, store, () => new CancelNotices());
  }

  /**
   * Calls the listener for each cancelled running job of a queue. Returns a function that unsubscribes.
   *
   * @param queueKey identifies the queue in this store
   */
  listen(queueKey: string, listener: Listener): () => void {
    const listeners = this.listeners.get(queueKey) ?? new Set();
    this.listeners.set(queueKey, listeners.add(listener));
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) {
        this.listeners.delete(queueKey);
      }
    };
  }

  publish(queueKey: string, jobId: string): void {
    // The signals of jobs are aborted, so their listeners run.
    outsideOfCaller(() => this.listeners.get(queueKey)?.forEach((listener) => listener(jobId)));
  }
}
