// Queues in memory whose scripts wake one worker over its channel, as those of a Cluster do; see lua/lib/waiters.
import { MemoryServer } from '#memory/memory-server.js';
import { MemoryStore } from '#memory/memory-store.js';
import type { MemoryCalls } from '#memory/memory-calls.js';
import type { MemoryCall } from '#memory/verbs/memory-call.js';
import type { ResolvedQueueOptions } from '#queue/model/queue-options.js';
import type { Clock } from '#queue/runtime/clock.js';
import type { WakeListener, WakeSubscription } from '#queue/store/queue-store.js';
import type { ClaimReply, ClaimRequest, StoreCalls } from '#queue/store/store-calls.js';

type Message = 'wake' | 'cancel';

type Delivery = 'delivered' | 'late' | 'lost';

/** The time after which a lost subscription is made again, in ms. */
const AGAIN_MS = 50;

/** A subscription of a worker to its channel in a queue. */
interface Subscriber {
  readonly queue: string;
  readonly worker: string;
  /** Delivers a message at once, later to a frozen process, or never over a silent connection. Says which. */
  deliver(message: Message): Delivery;
  /** Learns that the server has ended the subscription. */
  dropped(): void;
}

/** Faults of the scripts, for tests that must find them. */
export interface WakingFaults {
  /** The claim does not make its worker a waiter; a call after it does. */
  joinsLater?: boolean;
  /** A wake ends at the first waiter, whether it has a receiver or not. */
  trustsDead?: boolean;
}

export class WakingServer extends MemoryServer {
  faults: WakingFaults = {};
  /** True while the server confirms subscriptions and counts none of them. */
  isDeaf = false;
  /** The time of the last wake that came late or never although its channel has a subscriber. */
  lostAt = -Infinity;
  /** The times of the last wakes that never came, by worker. */
  readonly lostBy = new Map<string, number>();
  private readonly joined = new Map<string, Map<string, number>>();
  private readonly subscribers = new Map<string, Subscriber>();
  /** Joins that a fault has put off. */
  private late: (() => void)[] = [];

  override wake(queue: string): void {
    const waiters = this.joined.get(queue);
    for (let worker = firstOf(waiters); worker !== undefined; worker = firstOf(waiters)) {
      waiters!.delete(worker);
      if (this.tell(queue, worker, 'wake') || this.faults.trustsDead) {
        break;
      }
    }
    super.wake(queue);
  }

  override nudge(worker: string, queue: string): void {
    this.tell(queue, worker, 'cancel');
    super.nudge(worker, queue);
  }

  override disconnect(worker: string): void {
    super.disconnect(worker);
    this.of(worker).forEach((each) => this.subscribers.delete(idOf(each.queue, worker)));
    this.lostAt = this.now();
  }

  /** Runs a claim: its worker becomes a waiter if the claim finds too little, and the server counts its channel. */
  claim(queue: string, { worker, count }: ClaimRequest, run: () => ClaimReply): ClaimReply {
    this.late.splice(0).forEach((join) => join());
    const waiters = this.joined.get(queue) ?? new Map<string, number>();
    this.joined.set(queue, waiters);
    const wasIn = waiters.delete(worker);
    const reply = run();
    if (reply.jobs.length + reply.refused.length >= count) {
      return reply;
    }
    if (!reply.isFull && !this.isHeard(queue, worker)) {
      return { ...reply, isUnheard: true };
    }
    if (wasIn || !reply.isFull) {
      const join = () => void waiters.set(worker, this.now());
      if (this.faults.joinsLater) this.late.push(join);
      else join();
    }
    return reply;
  }

  passWake(queue: string, worker: string, run: () => void): void {
    this.joined.get(queue)?.delete(worker);
    run();
  }

  isHeard(queue: string, worker: string): boolean {
    return this.subscribers.has(idOf(queue, worker));
  }

  /** Confirms a subscription. */
  listen(subscriber: Subscriber): void {
    if (!this.isDeaf) {
      this.subscribers.set(idOf(subscriber.queue, subscriber.worker), subscriber);
    }
  }

  leave(queue: string, worker: string): void {
    this.subscribers.delete(idOf(queue, worker));
  }

  /** Ends the subscriptions of a worker, as a cut connection does. */
  cut(worker: string): void {
    this.drop(this.of(worker));
  }

  /** Ends the subscriptions of a queue without being asked, as a moved slot does. */
  move(queue: string): void {
    this.drop([...this.subscribers.values()].filter((each) => each.queue === queue));
  }

  private drop(subscribers: Subscriber[]): void {
    subscribers.forEach(({ queue, worker }) => this.leave(queue, worker));
    subscribers.forEach((each) => each.dropped());
  }

  private of(worker: string): Subscriber[] {
    return [...this.subscribers.values()].filter((each) => each.worker === worker);
  }

  /** Returns whether the channel has a receiver, as SPUBLISH does. */
  private tell(queue: string, worker: string, message: Message): boolean {
    const subscriber = this.subscribers.get(idOf(queue, worker));
    const delivery = subscriber?.deliver(message) ?? 'delivered';
    if (delivery !== 'delivered') {
      this.lostAt = this.now();
    }
    if (delivery === 'lost') {
      this.lostBy.set(worker, this.now());
    }
    return subscriber !== undefined;
  }
}

/** What messages meet on their way to a process. */
export interface HubLink {
  /** Returns the time that a message takes, in ms. */
  delayMs(): number;
  /** Returns what becomes of a message now. */
  delivery(): Delivery;
}

const SOUND: HubLink = { delayMs: () => 0, delivery: () => 'delivered' };

export class WakingStore extends MemoryStore {
  override readonly isSharded: boolean = true;

  constructor(
    clock: Clock,
    private readonly waking: WakingServer,
    options: Omit<NonNullable<ConstructorParameters<typeof MemoryStore>[1]>, 'server'> = {},
    private readonly hub: HubLink = SOUND,
  ) {
    super(clock, { ...options, server: waking });
  }

  /** Spreads the queues over two masters. */
  override serverOf(queue?: StoreCalls): string {
    return (queue?.key.charCodeAt(queue.key.length - 1) ?? 0) % 2 === 0 ? 'master-a' : 'master-b';
  }

  override callsOf(queue: string, options: ResolvedQueueOptions): MemoryCalls {
    const calls = super.callsOf(queue, options);
    const { claim, workers } = calls;
    const { waking } = this;
    calls.claim = (request) =>
      running(claim(request) as MemoryCall<ClaimReply>, (run) => waking.claim(calls.key, request, run));
    const passWake = (worker: string) =>
      running(workers.passWake(worker) as MemoryCall<void>, (run) => waking.passWake(calls.key, worker, run));
    return Object.assign(calls, { workers: { ...workers, passWake } });
  }

  override async listenForWakes(
    worker?: string,
    queues: readonly StoreCalls[] = [],
    listener?: WakeListener,
  ): Promise<WakeSubscription> {
    const hubs = new Map(queues.map((queue) => [queue, this.subscription(worker!, queue, listener!)]));
    return {
      renew: (queue) => hubs.get(queue)?.renew(),
      leave: () => hubs.forEach((hub) => hub.leave()),
    };
  }

  /** Keeps the subscription of one channel, as `src/queue/redis/cluster/hub.ts` does. */
  private subscription(worker: string, calls: StoreCalls, listener: WakeListener) {
    const { waking, clock, hub } = this;
    let isOver = false;
    const later = (task: () => void, ms: number) => clock.setTimeout(() => isOver || task(), ms);
    const subscriber: Subscriber = {
      queue: calls.key,
      worker,
      deliver: (message) => {
        const delivery = hub.delivery();
        const heard = () => (message === 'wake' ? listener.woken(calls) : listener.cancelled(calls));
        if (delivery !== 'lost') later(heard, hub.delayMs());
        return delivery;
      },
      dropped: () => later(subscribe, AGAIN_MS),
    };
    const subscribe = () => {
      waking.listen(subscriber);
      later(() => listener.confirmed(calls), hub.delayMs());
    };
    later(subscribe, 0);
    return {
      renew: () => {
        waking.leave(calls.key, worker);
        later(subscribe, 0);
      },
      leave: () => {
        isOver = true;
        waking.leave(calls.key, worker);
      },
    };
  }
}

function running<Reply>(call: MemoryCall<Reply>, wrap: (run: () => Reply) => Reply): MemoryCall<Reply> {
  return { ...call, run: () => wrap(() => call.run()) };
}

/** Returns the worker that waits longest. */
function firstOf(waiters: ReadonlyMap<string, number> | undefined): string | undefined {
  return [...(waiters ?? [])].toSorted(([a, from], [b, to]) => from - to || (a < b ? -1 : 1))[0]?.[0];
}

function idOf(queue: string, worker: string): string {
  return `${queue}\n${worker}`;
}
