import type { Connection } from '../redis/connection.js';

type Listener = (jobId: string) => void;

/** Tells the workers of this process of cancels of claimed jobs at once; other processes learn of them from Redis. */
export class CancelNotices {
  private static readonly known = new WeakMap<Connection, CancelNotices>();
  private readonly listeners = new Map<string, Set<Listener>>();

  static of(connection: Connection): CancelNotices {
    let notices = CancelNotices.known.get(connection);
    if (!notices) {
      notices = new CancelNotices();
      CancelNotices.known.set(connection, notices);
    }
    return notices;
  }

  /**
   * Calls the listener for each job of a queue whose cancel was requested. Returns the function that ends it.
   *
   * @param queueKey what tells the queue from others on this connection
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

  tell(queueKey: string, jobId: string): void {
    this.listeners.get(queueKey)?.forEach((listener) => listener(jobId));
  }
}
