// One process of the simulated fleet, with its own clock and a network to the server.
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import { RedisUnsuitableError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { MemoryStore, type StoreLink } from '#memory/memory-store.js';
import type { EnqueueMiddleware } from '#queue/enqueue/enqueue-middleware.js';
import { linkOf } from '../server/network.js';
import { MIXED_LIMITS, OLDER, type Release } from '../release.js';
import type { QueueName, World } from '../world.js';
import { ProcessClock } from './process-clock.js';

export abstract class SimulatedProcess {
  readonly clock: ProcessClock;
  protected readonly queues: Record<QueueName, JobQueue>;
  protected readonly store: MemoryStore;

  constructor(
    readonly name: string,
    protected readonly world: World,
    skewMs: number,
    readonly release: Release = OLDER,
    middleware?: readonly EnqueueMiddleware[],
  ) {
    this.clock = new ProcessClock(world.clock, skewMs);
    const { clock, random, watched } = world;
    const faults = () => world.faultsOf(this);
    const link = linkOf(name, this.clock, clock, random, faults, watched);
    const store = this.openStore(link);
    this.store = store;
    const { options, limits } = release;
    const shared = { ...options, ...(middleware && { middleware }) };
    const open = (queue: QueueName, more = {}) => new JobQueue(store, queue, { ...shared, ...more });
    const mixed = world.parts.has('groups') ? MIXED_LIMITS : {};
    this.queues = { mixed: open('mixed', mixed), ordered: open('ordered'), limited: open('limited', limits) };
  }

  abstract start(): void;

  protected openStore(link: StoreLink): MemoryStore {
    return new MemoryStore(this.clock, { server: this.world.server, link });
  }

  /** Ends it as a SIGKILL does. */
  kill(): void {
    this.clock.kill();
    this.world.server.disconnect(this.name);
  }

  protected sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.setTimeout(resolve, ms));
  }

  /** Repeats a call with an unknown outcome until it has a reply. */
  protected async untilAnswered<Reply>(call: () => Promise<Reply>): Promise<Reply> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof EnqueueError || error instanceof RedisUnsuitableError)) throw error;
      }
    }
  }
}
