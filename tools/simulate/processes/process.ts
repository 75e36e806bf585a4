// One process of the simulated fleet, with its own clock and a network to the server.
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import { RedisUnsuitableError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { ScriptStore, type StoreLink } from '#memory/script-store.js';
import type { EnqueueMiddleware } from '#queue/enqueue/enqueue-middleware.js';
import { MOST_COST, SHARED_LIMIT } from '../history/sharing-rules.js';
import { linkOf } from '../server/network.js';
import { AUDITED, MIXED_LIMITS, OLDER, type Release } from '../release.js';
import type { QueueName, World } from '../world.js';
import { ProcessClock } from './process-clock.js';

export abstract class SimulatedProcess {
  readonly clock: ProcessClock;
  protected readonly store: ScriptStore;
  private opened: Record<QueueName, JobQueue> | undefined;

  constructor(
    readonly name: string,
    protected readonly world: World,
    skewMs: number,
    readonly release: Release = OLDER,
    private readonly middleware?: readonly EnqueueMiddleware[],
  ) {
    this.clock = new ProcessClock(world.clock, skewMs);
    const { clock, random, watched } = world;
    const faults = () => world.faultsOf(this);
    const link = linkOf(name, this.clock, clock, random, faults, watched);
    this.store = this.openStore(link);
  }

  /** The queues of most processes, opened when they are first used. */
  protected get queues(): Record<QueueName, JobQueue> {
    return (this.opened ??= this.openQueues());
  }

  private openQueues(): Record<QueueName, JobQueue> {
    const { options, limits } = this.release;
    const { parts } = this.world;
    const shared = { ...options, ...(this.middleware && { middleware: this.middleware }) };
    const open = (queue: QueueName, more = {}) => new JobQueue(this.store, queue, { ...shared, ...more });
    const mixed = parts.has('groups') ? MIXED_LIMITS : {};
    const audited = parts.has('audit') ? AUDITED : {};
    const sharing = parts.has('sharing') ? { limits: [SHARED_LIMIT] } : {};
    const costly = parts.has('sharing') ? { limits: [{ limit: SHARED_LIMIT, cost: { most: MOST_COST } }] } : {};
    return {
      mixed: open('mixed', { ...mixed, ...audited, ...costly }),
      ordered: open('ordered'),
      limited: open('limited', { ...limits, ...audited, ...sharing }),
    };
  }

  start(): void {
    void this.work();
  }

  /** Works until the run ends. A process with a worker has none of its own. */
  protected work(): Promise<void> {
    return Promise.resolve();
  }

  protected openStore(link: StoreLink): ScriptStore {
    return new ScriptStore(this.clock, { server: this.world.server, link });
  }

  /** Ends it as a SIGKILL does. */
  kill(): void {
    this.clock.kill();
    this.world.server.disconnect(this.name);
    this.world.channels?.disconnect(this.name);
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
