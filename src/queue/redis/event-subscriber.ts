import slotOf from 'cluster-key-slot';
import type { Redis } from 'ioredis';
import type { JobEvent } from '../model/job-event.js';
import type { Connection } from './connection.js';
import { parseEvent } from './parse-event.js';
import { explainRefusal } from './permission-error.js';
import { masterOfSlot } from './ioredis-internals.js';
import { isCluster, type RedisClient } from './redis-client.js';
import { retryUntilAnswered } from './response-timeout.js';
import { startOf } from '../runtime/cut.js';

/** The time a confirmation may take before the connection is replaced, in ms. */
const CONFIRMATION_MS = 2_000;

/** The time further invalid events are not logged, in ms. */
const QUIET_MS = 10_000;

type Listener = (event: JobEvent) => void;

/** The interval at which the masters of the channels are compared with the known ones, in ms. */
const LOOK_MS = 1_000;

/** A channel with listeners, and the connection that it is subscribed on. */
interface Channel {
  listeners: Set<Listener>;
  client: RedisClient;
}

/**
 * The subscriptions of all queues of a client, on one connection. In a Cluster each master has its own. Scripts count the subscribers of their own server, so a channel must be heard there. The connections
 * exist only while there are listeners. Events can be missed, so callers that must not miss one also poll.
 */
export class EventSubscriber {
  private static readonly known = new WeakMap<Connection, EventSubscriber>();
  private readonly channels = new Map<string, Channel>();
  /** The connections, by the address of their master. One server, and a master that is not known yet, have ''. */
  private readonly clients = new Map<string, RedisClient>();
  private closing: NodeJS.Timeout | undefined;
  private looking: NodeJS.Timeout | undefined;
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
  async listen(name: string, listener: Listener): Promise<() => void> {
    clearTimeout(this.closing);
    let channel = this.channels.get(name);
    if (!channel) {
      channel = { listeners: new Set(), client: this.clientFor(name) };
      this.channels.set(name, channel);
    }
    channel.listeners.add(listener);
    if (isCluster(this.connection.client)) {
      this.looking ??= setInterval(() => this.followSlots(), LOOK_MS).unref();
    }
    try {
      await retryUntilAnswered(channel.client, channel.client.subscribe(name), CONFIRMATION_MS);
    } catch (error) {
      this.leave(name, listener);
      throw explainRefusal(error);
    }
    return () => this.leave(name, listener);
  }

  private leave(name: string, listener: Listener): void {
    const channel = this.channels.get(name);
    if (!channel?.listeners.delete(listener) || channel.listeners.size > 0) {
      return;
    }
    this.channels.delete(name);
    unsubscribe(channel.client, name);
    if (this.channels.size === 0) {
      // A moment later, so that successive waits for results share a connection.
      this.closing = setTimeout(() => this.closeIdle(), 1_000).unref();
    }
  }

  /** Closes the connections at once if there is no listener. */
  closeIdle(): void {
    if (this.channels.size > 0) {
      return;
    }
    clearTimeout(this.closing);
    clearInterval(this.looking);
    this.looking = undefined;
    this.closeUnused();
  }

  /** Subscribes each channel whose slot has moved at the master that has it now. */
  private followSlots(): void {
    for (const [name, channel] of this.channels) {
      const client = this.masterOf(name) && this.clientFor(name);
      if (client && client !== channel.client) {
        unsubscribe(channel.client, name);
        channel.client = client;
        client.subscribe(name).catch(() => undefined); // a closed connection is followed by the next look
      }
    }
    this.closeUnused();
  }

  /** Closes each connection without a channel. */
  private closeUnused(): void {
    const used = new Set([...this.channels.values()].map(({ client }) => client));
    for (const [address, client] of this.clients) {
      if (!used.has(client)) {
        this.clients.delete(address);
        client.disconnect();
      }
    }
  }

  /** Returns the connection for a channel: to the master of its slot, where a Cluster's client knows it. */
  private clientFor(name: string): RedisClient {
    const master = this.masterOf(name);
    const address = master?.address ?? '';
    let client = this.clients.get(address);
    if (!client) {
      client = this.open(master?.node);
      this.clients.set(address, client);
    }
    return client;
  }

  private masterOf(name: string): ReturnType<typeof masterOfSlot> {
    const { client } = this.connection;
    return isCluster(client) ? masterOfSlot(client, slotOf(name)) : undefined;
  }

  private open(master: Redis | undefined): RedisClient {
    // ioredis 5 sends a SUBSCRIBE before it asks whether the server is ready, and may then ask no more.
    const own = { enableReadyCheck: false };
    const client = master
      ? this.connection.duplicateMaster(master, 'events', own)
      : this.connection.duplicate('events', own);
    client.on('message', (name: string, message: string) => this.dispatch(client, name, message));
    return client;
  }

  /** Logs at most once in ten seconds, because any client with the permission to publish could flood the log. */
  private warnOfBadEvent(name: string, message: string): void {
    const now = performance.now();
    if (now - this.warnedAtMs >= QUIET_MS) {
      this.warnedAtMs = now;
      const expected = 'expected JSON with id and status as text';
      this.connection.logger.warn(`Ignored an event on ${name}: ${expected}, found ${startOf(message, 100)}`);
    }
  }

  private dispatch(client: RedisClient, name: string, message: string): void {
    const channel = this.channels.get(name);
    if (channel?.client !== client) {
      return; // heard at the new master too
    }
    const event = parseEvent(message);
    if (!event) {
      this.warnOfBadEvent(name, message);
      return;
    }
    for (const listener of channel.listeners) {
      try {
        listener(event);
      } catch (error) {
        this.connection.logger.error(`A listener on ${name} threw an error`, error);
      }
    }
  }
}

function unsubscribe(client: RedisClient, name: string): void {
  client.unsubscribe(name).catch(() => undefined); // a closed connection has no subscriptions either
}
