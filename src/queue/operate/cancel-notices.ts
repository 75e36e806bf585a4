import type { QueueStore } from '../store/queue-store.js';
import { keptIn } from '../runtime/collections.js';
import { outsideOfCaller } from '../runtime/clock.js';

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
