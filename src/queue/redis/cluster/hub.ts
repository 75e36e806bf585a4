import slotOf from 'cluster-key-slot';
import type { Cluster } from 'ioredis';
import { backgroundInterval, backgroundTimeout } from '../../runtime/clock.js';
import { keptIn } from '../../runtime/collections.js';
import type { Connection } from '../connection.js';
import type { EventSource } from '../event-connection.js';
import { addressOfSlot, masterOfSlot } from '../ioredis-internals.js';
import { isPassing } from '../passing-errors.js';
import { HubConnection } from './hub-connection.js';

/** The interval at which the masters of the channels are compared with the known ones, in ms. */
const LOOK_MS = 1_000;

/** The number of looks after a loss that read the slots again. A demoted master lets clients subscribe, but counts none. */
const LOOKS_AFTER_LOSS = 15;

/** The first pause before a lost subscription is made again, in ms; twice as long after each failure. */
const FIRST_PAUSE_MS = 50;

/** Receives the messages of a channel. */
interface HubListener {
  /** Called when the master of the channel counts this subscriber from now on. Messages before that were missed. */
  confirmed(): void;
  message(text: string): void;
  /** Called when the server does not let us listen, now and later. */
  refused(error: Error): void;
}

/** A channel, and where it is subscribed. */
interface Channel {
  readonly name: string;
  readonly isSharded: boolean;
  readonly slot: number;
  readonly listener: HubListener;
  /** The connection that has, or has asked for, its subscription. */
  at: HubConnection | undefined;
}

/**
 * The number of looks after which the slots are read again, while a channel is not sharded. The server does not tell a
 * subscriber of such a channel that its slot has moved.
 */
const LOOKS_UNTIL_READ = 10;

/**
 * The channels of a process in a Cluster, over one connection to each master. A script counts the subscribers of its own
 * master, so each channel follows its slot. `confirmed` is called after each subscription, because messages may have been
 * missed before. docs/internals/hub.md has the states.
 */
export class Hub {
  private static readonly known = new WeakMap<Connection, Hub>();
  private readonly channels = new Map<string, Channel>();
  /** The connections, by the address of their master. */
  private readonly connections = new Map<string, HubConnection>();
  private looking: NodeJS.Timeout | undefined;
  private soon: NodeJS.Timeout | undefined;
  private pauseMs = FIRST_PAUSE_MS;
  private looks = 0;
  private looksAfterLoss = 0;

  /** Returns the hub of a connection, always the same object. Its client is of a Cluster. */
  static of(connection: Connection): Hub {
    return keptIn(Hub.known, connection, () => new Hub(connection));
  }

  private constructor(private readonly connection: Connection) {}

  /** The addresses of the masters with a connection. */
  get servers(): string[] {
    return [...this.connections.keys()];
  }

  /** Listens on a sharded channel, which has one listener, until the returned function is called. */
  listen(name: string, listener: HubListener): () => void {
    return this.add(name, listener, true);
  }

  /** Listens on a channel that is not sharded: clients of the Redis pattern know no others. */
  listenToAll(name: string, listener: HubListener): () => void {
    return this.add(name, listener, false);
  }

  private add(name: string, listener: HubListener, isSharded: boolean): () => void {
    const channel = { name, isSharded, slot: slotOf(name), listener, at: undefined };
    this.channels.set(name, channel);
    this.looking ??= backgroundInterval(() => this.look(), LOOK_MS);
    this.lookSoon(0);
    return () => this.leave(name, channel);
  }

  /** Subscribes again to a channel whose subscription the server confirmed, but does not count. */
  renew(name: string): void {
    const channel = this.channels.get(name);
    if (channel?.at) {
      channel.at.unsubscribe(channel);
      channel.at = undefined;
      this.lookSoon(0);
    }
  }

  private leave(name: string, channel: Channel): void {
    if (this.channels.get(name) !== channel) {
      return;
    }
    this.channels.delete(name);
    channel.at?.unsubscribe(channel);
    if (this.channels.size === 0) {
      clearInterval(this.looking);
      clearTimeout(this.soon);
      this.looking = this.soon = undefined;
      [...this.connections.values()].forEach((each) => each.close());
    }
  }

  /** Looks for the masters of the channels before the next interval, once for all channels of this moment. */
  private lookSoon(ms: number): void {
    this.soon ??= backgroundTimeout(() => {
      this.soon = undefined;
      this.followSlots();
    }, ms);
  }

  private look(): void {
    this.looks++;
    const isTold = [...this.channels.values()].every(({ isSharded }) => isSharded);
    if (this.looksAfterLoss > 0 || (!isTold && this.looks % LOOKS_UNTIL_READ === 0)) {
      this.looksAfterLoss = Math.max(0, this.looksAfterLoss - 1);
      this.readSlots();
    }
    this.followSlots();
  }

  /** Subscribes each channel at the master of its slot, unless it is subscribed there. */
  private followSlots(): void {
    this.closeUnused(); // a connection that counts for no channel is replaced
    for (const channel of this.channels.values()) {
      const to = this.connectionFor(channel.slot);
      if (to && to !== channel.at) {
        channel.at?.unsubscribe(channel);
        channel.at = to;
        to.subscribe(channel);
      }
    }
    this.closeUnused();
  }

  private closeUnused(): void {
    const used = new Set([...this.channels.values()].map(({ at }) => at));
    [...this.connections.values()].filter((each) => !used.has(each)).forEach((each) => each.close());
  }

  /** Returns the connection to the master of a slot; undefined while the client does not know the master. */
  private connectionFor(slot: number): HubConnection | undefined {
    const address = addressOfSlot(this.client, slot);
    const known = this.connections.get(address);
    const master = known ? undefined : masterOfSlot(this.client, slot);
    if (!master) {
      return known;
    }
    const client = this.connection.duplicateMaster(master.node, 'wakes', OWN_CONNECTION);
    const opened: HubConnection = new HubConnection(
      client,
      this.listenerOf(() => opened),
    );
    this.connections.set(address, opened);
    return opened;
  }

  private listenerOf(connection: () => HubConnection) {
    /** Returns a channel if it is still subscribed on this connection. */
    const own = (name: string) => {
      const channel = this.channels.get(name);
      return channel?.at === connection() ? channel : undefined;
    };
    return {
      confirmed: (name: string) => {
        this.pauseMs = FIRST_PAUSE_MS;
        own(name)?.listener.confirmed();
      },
      message: (name: string, text: string) => own(name)?.listener.message(text),
      dropped: (name: string, error?: Error) => this.dropped(own(name), error),
      closed: (closed: HubConnection) => this.closed(closed),
    };
  }

  private dropped(channel: Channel | undefined, error: Error | undefined): void {
    if (channel && error && !isPassing(error)) {
      channel.listener.refused(error);
    } else if (channel) {
      channel.at = undefined;
      this.refresh();
    }
  }

  private closed(connection: HubConnection): void {
    const ended = [...this.connections].filter(([, each]) => each === connection);
    ended.forEach(([address]) => this.connections.delete(address));
    const lost = [...this.channels.values()].filter(({ at }) => at === connection);
    lost.forEach((channel) => (channel.at = undefined));
    if (lost.length > 0) {
      this.refresh();
    }
  }

  /** Reads the slots again, and then subscribes what was lost. The pause lets the masters agree on a moved slot. */
  private refresh(): void {
    this.looksAfterLoss = LOOKS_AFTER_LOSS;
    if (!this.soon) {
      this.readSlots();
      this.lookSoon(this.pauseMs);
      this.pauseMs = Math.min(LOOK_MS, 2 * this.pauseMs);
    }
  }

  private readSlots(): void {
    this.client.refreshSlotsCache(() => undefined); // without a reply the next look reads them again
  }

  private get client(): Cluster {
    return this.connection.client as Cluster;
  }
}

/** The options of a connection that is opened once. The next one may be to another master. */
const OWN_CONNECTION = {
  lazyConnect: true,
  retryStrategy: () => null,
  connectTimeout: 3_000,
  enableReadyCheck: true,
};

/** The time for which a channel without listeners is kept, in ms. So successive waits for results share it. */
const CHANNEL_KEPT_MS = 1_000;

/** A channel of the hub. */
interface EventChannel {
  readonly confirmed: Promise<void>;
  readonly leave: () => void;
  /** Leaves the channel later; set while it has no listener. */
  leaving?: NodeJS.Timeout | undefined;
}

/** The subscriptions of all queues of a client of a Cluster, on the connections of its hub. */
export class HubEvents implements EventSource {
  private readonly channels = new Map<string, EventChannel>();

  constructor(
    private readonly connection: Connection,
    private readonly onMessage: (channel: string, message: string) => void,
  ) {}

  subscribe(name: string): Promise<void> {
    const channel = this.channels.get(name) ?? this.open(name);
    this.channels.set(name, channel);
    clearTimeout(channel.leaving);
    channel.leaving = undefined;
    return channel.confirmed;
  }

  unsubscribe(name: string): void {
    const channel = this.channels.get(name);
    if (channel) {
      clearTimeout(channel.leaving);
      channel.leaving = backgroundTimeout(() => this.leave(name), CHANNEL_KEPT_MS);
    }
  }

  closeIdle(): void {
    [...this.channels.keys()].forEach((name) => this.leave(name));
  }

  private open(name: string): EventChannel {
    let leave: (() => void) | undefined;
    const confirmed = new Promise<void>((resolve, reject) => {
      leave = Hub.of(this.connection).listenToAll(name, {
        confirmed: resolve,
        message: (text) => this.onMessage(name, text),
        refused: (error) => {
          this.leave(name); // a later listener asks again
          reject(error);
        },
      });
    });
    return { confirmed, leave: () => leave?.() };
  }

  private leave(name: string): void {
    const channel = this.channels.get(name);
    clearTimeout(channel?.leaving);
    this.channels.delete(name);
    channel?.leave();
  }
}
