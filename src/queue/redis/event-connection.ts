import type { Connection } from './connection.js';
import type { RedisClient } from './redis-client.js';
import { retryUntilAnswered } from './response-timeout.js';
import { backgroundTimeout } from '../runtime/clock.js';

/** The time a confirmation may take before the connection is replaced, in ms. */
const CONFIRMATION_MS = 2_000;

/** The time for which the connection is kept without a channel, in ms. So successive waits for results share it. */
const KEPT_MS = 1_000;

/** ioredis 5 sends a SUBSCRIBE before it asks whether the server is ready, and may then ask no more. */
const OWN = { enableReadyCheck: false };

/** The way in which the messages of channels come. */
export interface EventSource {
  /** Resolves once the server counts the subscription. Rejects if the Redis user may not subscribe. */
  subscribe(name: string): Promise<void>;
  unsubscribe(name: string): void;
  /** Closes what is kept for the next channel. Called while there is no channel. */
  closeIdle(): void;
}

/** The subscriptions of all queues of a client of one server, on one connection. */
export class EventConnection implements EventSource {
  private readonly channels = new Set<string>();
  private client: RedisClient | undefined;
  private closing: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly onMessage: (channel: string, message: string) => void,
  ) {}

  async subscribe(name: string): Promise<void> {
    clearTimeout(this.closing);
    this.channels.add(name);
    this.client ??= this.open();
    await retryUntilAnswered(this.client, this.client.subscribe(name), CONFIRMATION_MS);
  }

  unsubscribe(name: string): void {
    this.channels.delete(name);
    this.client?.unsubscribe(name).catch(() => undefined); // a closed connection has no subscriptions either
    if (this.channels.size === 0) {
      this.closing = backgroundTimeout(() => this.closeIdle(), KEPT_MS);
    }
  }

  closeIdle(): void {
    clearTimeout(this.closing);
    this.client?.disconnect();
    this.client = undefined;
  }

  private open(): RedisClient {
    const client = this.connection.duplicate('events', OWN);
    client.on('message', this.onMessage);
    return client;
  }
}
