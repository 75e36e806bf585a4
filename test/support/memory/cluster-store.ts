// Queues in memory by the texts for a Cluster, whose scripts wake one worker over its channel; see lua/lib/waiters.
import { toBytes, toText } from '#memory/lua/values.js';
import { ScriptStore } from '#memory/script-store.js';
import type { ScriptServer } from '#memory/server/script-server.js';
import type { Clock } from '#queue/runtime/clock.js';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import { CANCEL_MARKER } from '#queue/scripts/queue-keys.js';
import type { WakeListener, WakeSubscription } from '#queue/store/queue-store.js';
import type { StoreCalls } from '#queue/store/store-calls.js';

type Delivery = 'delivered' | 'late' | 'lost';

/** The time after which a lost subscription is made again, in ms. */
const AGAIN_MS = 50;

/** What messages meet on their way to a process. */
export interface HubLink {
  /** Returns the time that a message takes, in ms. */
  delayMs(): number;
  /** Returns what becomes of a message now: it arrives, later at a frozen process, or never over a silent connection. */
  delivery(): Delivery;
}

const SOUND: HubLink = { delayMs: () => 0, delivery: () => 'delivered' };

/** A subscription of a worker to its channel in a queue. */
interface Subscriber {
  readonly queue: string;
  readonly worker: string;
  readonly channel: string;
  message(text: string): Delivery;
  /** Called when the server has ended the subscription. */
  dropped(): void;
}

/** The subscriptions of workers to their channels on a server, which may break. */
export class WakeChannels {
  /** True while the server confirms subscriptions and counts none of them. */
  isDeaf = false;
  /** The time of the last wake that came late or never although its channel has a subscriber. */
  lostAt = -Infinity;
  /** The times of the last wakes that never came, by worker. */
  readonly lostBy = new Map<string, number>();
  private readonly ends = new Map<Subscriber, () => void>();

  constructor(private readonly server: ScriptServer) {}

  isHeard(queue: string, worker: string): boolean {
    return this.of(worker).some((each) => each.queue === queue);
  }

  /** Confirms a subscription. */
  listen(subscriber: Subscriber): void {
    if (this.isDeaf || this.ends.has(subscriber)) return;
    const end = this.server.subscribe(toBytes(subscriber.channel), (text) => {
      const delivery = subscriber.message(toText(text));
      if (delivery !== 'delivered') this.lostAt = this.server.now();
      if (delivery === 'lost') this.lostBy.set(subscriber.worker, this.server.now());
    });
    this.ends.set(subscriber, end);
  }

  leave(subscriber: Subscriber): void {
    this.ends.get(subscriber)?.();
    this.ends.delete(subscriber);
  }

  /** Forgets the subscriptions of a process that is gone. */
  disconnect(worker: string): void {
    this.of(worker).forEach((each) => this.leave(each));
    this.lostAt = this.server.now();
  }

  /** Ends the subscriptions of a worker, as a cut connection does. */
  cut(worker: string): void {
    this.drop(this.of(worker));
  }

  /** Ends the subscriptions of a queue without being asked, as a moved slot does. */
  move(queue: string): void {
    this.drop([...this.ends.keys()].filter((each) => each.queue === queue));
  }

  private drop(subscribers: readonly Subscriber[]): void {
    subscribers.forEach((each) => this.leave(each));
    subscribers.forEach((each) => each.dropped());
  }

  private of(worker: string): Subscriber[] {
    return [...this.ends.keys()].filter((each) => each.worker === worker);
  }
}

export class ClusterStore extends ScriptStore {
  override readonly isSharded: boolean = true;

  constructor(
    clock: Clock,
    private readonly channels: WakeChannels,
    options: NonNullable<ConstructorParameters<typeof ScriptStore>[1]>,
    private readonly hub: HubLink = SOUND,
  ) {
    super(clock, options);
  }

  /** Spreads the queues over two masters. */
  override serverOf(calls?: StoreCalls): string {
    const { queue = '' } = (calls as QueueCalls | undefined)?.keys ?? {};
    return queue.charCodeAt(queue.length - 1) % 2 === 0 ? 'master-a' : 'master-b';
  }

  override async listenForWakes(
    worker: string,
    queues: readonly StoreCalls[],
    listener: WakeListener,
  ): Promise<WakeSubscription> {
    const hubs = new Map(queues.map((queue) => [queue, this.subscription(worker, queue, listener)]));
    return {
      renew: (queue) => hubs.get(queue)?.renew(),
      leave: () => hubs.forEach((hub) => hub.leave()),
    };
  }

  /** Keeps the subscription of one channel, as `src/queue/redis/cluster/hub.ts` does. */
  private subscription(worker: string, calls: StoreCalls, listener: WakeListener) {
    const { channels, clock, hub } = this;
    const { keys } = calls as QueueCalls;
    let isOver = false;
    const later = (task: () => void, ms: number) => clock.setTimeout(() => isOver || task(), ms);
    const subscriber: Subscriber = {
      queue: keys.queue,
      worker,
      channel: keys.wakeChannel(worker),
      message: (text) => {
        const delivery = hub.delivery();
        const heard = () => (text === CANCEL_MARKER ? listener.cancelled(calls) : listener.woken(calls));
        if (delivery !== 'lost') later(heard, hub.delayMs());
        return delivery;
      },
      dropped: () => later(subscribe, AGAIN_MS),
    };
    const subscribe = () => {
      channels.listen(subscriber);
      later(() => listener.confirmed(calls), hub.delayMs());
    };
    later(subscribe, 0);
    return {
      renew: () => {
        channels.leave(subscriber);
        later(subscribe, 0);
      },
      leave: () => {
        isOver = true;
        channels.leave(subscriber);
      },
    };
  }
}
