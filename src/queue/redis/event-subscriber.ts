import type { JobEvent } from '../model/job-event.js';
import type { Connection } from './connection.js';
import { parseEvent } from './parse-event.js';
import { explainRefusal } from './permission-error.js';
import type { RedisClient } from './redis-client.js';
import { retryUntilAnswered } from './response-timeout.js';
import { startOf } from '../runtime/cut.js';

/** The time a confirmation may take before the connection is replaced, in ms. */
const CONFIRMATION_MS = 2_000;

/** The time further invalid events are not logged, in ms. */
const QUIET_MS = 10_000;

type Listener = (event: JobEvent) => void;

/**
 * One subscriber connection for all queues of a client. It exists only while there is a listener. Events can be missed,
 * so callers that must not miss one also poll.
 */
export class EventSubscriber {
  private static readonly known = new WeakMap<Connection, EventSubscriber>();
  private readonly listeners = new Map<string, Set<Listener>>();
  private client: RedisClient | undefined;
  private closing: NodeJS.Timeout | undefined;
  private warnedAtMs = -Infinity;

  static of(connection: Connection): EventSubscriber {
    let subscriber = EventSubscriber.known.get(connection);
    if (!subscriber) {
      subscriber = new EventSubscriber(connection);
      EventSubscriber.known.set(connection, subscriber);
    }
    return subscriber;
  }

  private constructor(private readonly connection: Connection) {}

  /**
   * Listens on a channel; resolves, once the server has confirmed it, with the function that ends it.
   *
   * @throws RedisPermissionError when the Redis user may not subscribe to it
   */
  async listen(channel: string, listener: Listener): Promise<() => void> {
    clearTimeout(this.closing);
    const client = (this.client ??= this.open());
    let listeners = this.listeners.get(channel);
    if (!listeners) {
      listeners = new Set();
      this.listeners.set(channel, listeners);
    }
    listeners.add(listener);
    try {
      await retryUntilAnswered(client, client.subscribe(channel), CONFIRMATION_MS);
    } catch (error) {
      this.leave(channel, listener);
      throw explainRefusal(error);
    }
    return () => this.leave(channel, listener);
  }

  private leave(channel: string, listener: Listener): void {
    const listeners = this.listeners.get(channel);
    if (!listeners?.delete(listener) || listeners.size > 0) {
      return;
    }
    this.listeners.delete(channel);
    this.client?.unsubscribe(channel).catch(() => undefined); // a closed connection has no subscriptions either
    if (this.listeners.size === 0) {
      // A moment later, so that successive waits for results share a connection.
      this.closing = setTimeout(() => this.close(), 1_000).unref();
    }
  }

  /** Closes the connection at once if there is no listener. */
  closeIdle(): void {
    if (this.listeners.size === 0) {
      this.close();
    }
  }

  private close(): void {
    clearTimeout(this.closing);
    this.client?.disconnect();
    this.client = undefined;
  }

  private open(): RedisClient {
    // ioredis 5 sends a SUBSCRIBE before it asks whether the server is ready, and may then ask no more.
    const client = this.connection.duplicate('events', { enableReadyCheck: false });
    client.on('message', (channel: string, message: string) => this.dispatch(channel, message));
    return client;
  }

  /** Logs at most once in ten seconds, because any client with the permission to publish could flood the log. */
  private warnOfBadEvent(channel: string, message: string): void {
    const now = performance.now();
    if (now - this.warnedAtMs >= QUIET_MS) {
      this.warnedAtMs = now;
      const expected = 'expected JSON with id and status as text';
      this.connection.logger.warn(`Ignored an event on ${channel}: ${expected}, found ${startOf(message, 100)}`);
    }
  }

  private dispatch(channel: string, message: string): void {
    const event = parseEvent(message);
    if (!event) {
      this.warnOfBadEvent(channel, message);
      return;
    }
    for (const listener of this.listeners.get(channel) ?? []) {
      try {
        listener(event);
      } catch (error) {
        this.connection.logger.error(`A listener on ${channel} threw an error`, error);
      }
    }
  }
}
