import type { Connection } from '../connection.js';
import type { EventSource } from '../event-connection.js';
import { Hub } from './hub.js';
import { backgroundTimeout } from '../../runtime/clock.js';

/** The time for which a channel without listeners is kept, in ms. So successive waits for results share it. */
const KEPT_MS = 1_000;

/** A channel of the hub. */
interface Channel {
  readonly confirmed: Promise<void>;
  readonly leave: () => void;
  /** Leaves the channel later; set while it has no listener. */
  leaving?: NodeJS.Timeout | undefined;
}

/** The subscriptions of all queues of a client of a Cluster, on the connections of its hub. */
export class HubEvents implements EventSource {
  private readonly channels = new Map<string, Channel>();

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
      channel.leaving = backgroundTimeout(() => this.leave(name), KEPT_MS);
    }
  }

  closeIdle(): void {
    [...this.channels.keys()].forEach((name) => this.leave(name));
  }

  private open(name: string): Channel {
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
