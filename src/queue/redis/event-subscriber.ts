import type { Connection } from './connection.js';
import { HubEvents } from './cluster/hub.js';
import { EventConnection, type EventSource } from './event-connection.js';
import { parseEvent } from './parse-event.js';
import { explainRefusal } from './connection-errors.js';
import { isCluster } from './redis-client.js';
import { startOf } from '../runtime/cut.js';
import { keptIn } from '../runtime/collections.js';
import { EventListeners, type EventListener } from '../store/event-listeners.js';

/** The time further invalid events are not logged, in ms. */
const QUIET_MS = 10_000;

type MessageListener = (message: string) => void;

/**
 * The listeners to the events of all queues of a client. One server has a connection for them. In a Cluster they come over the hub. Connections
 * exist only while there are listeners. Events can be missed, so callers that must not miss one also poll.
 */
export class EventSubscriber {
  private static readonly known = new WeakMap<Connection, EventSubscriber>();
  private readonly channels = new Map<string, EventListeners>();
  /** The listeners of channels without events. */
  private readonly others = new Map<string, Set<MessageListener>>();
  private readonly source: EventSource;
  private warnedAtMs = -Infinity;

  static of(connection: Connection): EventSubscriber {
    return keptIn(EventSubscriber.known, connection, () => new EventSubscriber(connection));
  }

  private constructor(private readonly connection: Connection) {
    const dispatch = (name: string, message: string) => this.dispatch(name, message);
    this.source = isCluster(connection.client)
      ? new HubEvents(connection, dispatch)
      : new EventConnection(connection, dispatch);
  }

  /**
   * Listens on a channel; resolves, once the server has confirmed it, with the function that ends it.
   *
   * @param ids the jobs to listen to; undefined for all
   * @throws RedisPermissionError when the Redis user may not subscribe to it
   */
  async listen(name: string, listener: EventListener, ids?: readonly string[]): Promise<() => void> {
    const listeners = keptIn(this.channels, name, () => new EventListeners());
    listeners.add(listener, ids);
    const leave = () => {
      listeners.delete(listener, ids);
      this.leaveIdle(name);
    };
    return this.subscribe(name, leave);
  }

  /** Listens to the messages of a channel that are no events, as `listen` does. */
  async listenTo(name: string, listener: MessageListener): Promise<() => void> {
    const listeners = keptIn(this.others, name, () => new Set<MessageListener>());
    listeners.add(listener);
    const leave = () => {
      if (listeners.delete(listener) && listeners.size === 0 && this.others.get(name) === listeners) {
        this.others.delete(name);
        this.source.unsubscribe(name);
      }
    };
    return this.subscribe(name, leave);
  }

  /** Subscribes to a channel, and returns `leave`. Calls it if that fails. */
  private async subscribe(name: string, leave: () => void): Promise<() => void> {
    try {
      await this.source.subscribe(name);
    } catch (error) {
      leave();
      throw explainRefusal(error);
    }
    return leave;
  }

  private leaveIdle(name: string): void {
    if (this.channels.get(name)?.isEmpty) {
      this.channels.delete(name);
      this.source.unsubscribe(name);
    }
  }

  /** Closes the connections at once if there is no listener. */
  closeIdle(): void {
    if (this.channels.size + this.others.size === 0) {
      this.source.closeIdle();
    }
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

  private dispatch(name: string, message: string): void {
    const listeners = this.channels.get(name);
    if (!listeners) {
      this.others.get(name)?.forEach((listener) => listener(message)); // none if unsubscribed meanwhile
      return;
    }
    const event = parseEvent(message);
    if (!event) {
      this.warnOfBadEvent(name, message);
      return;
    }
    listeners.emit(event, (error) => this.connection.logger.error(`A listener on ${name} threw an error`, error));
  }
}
