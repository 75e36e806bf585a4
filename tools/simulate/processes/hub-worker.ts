// A worker of many queues, which scripts wake over its hub as in a Cluster. Its connection may be cut or silent.
import { JobQueue } from '#queue/job-queue.js';
import type { StoreLink } from '#memory/script-store.js';
import type { Job } from '#worker/handlers/job.js';
import { Worker } from '#worker/worker.js';
import { ClusterStore, type HubLink } from '../../../test/support/memory/cluster-store.js';
import { OPTIONS } from '../release.js';
import type { World } from '../world.js';
import { WorkerProcess } from './worker-process.js';

export const HUB_QUEUES = Array.from({ length: 6 }, (_, i) => `hub-${i}`);

/** No job runs alone, so that each free slot may take each job. */
export const HUB_OPTIONS = { ...OPTIONS, maxCrashes: 1_000 };

/** The time that a message takes at most, in ms. */
const LONGEST_MESSAGE_MS = 40;

const CONCURRENCY = 1;

export class HubWorker extends WorkerProcess {
  private isMuted = false;

  /** @param concurrency the jobs at once of all its queues; undefined for no limit */
  constructor(
    name: string,
    world: World,
    skewMs: number,
    private readonly concurrency: number | undefined,
  ) {
    super(name, world, skewMs);
  }

  override start(): void {
    const { concurrency } = this;
    const served = HUB_QUEUES.map((name) => ({
      queue: new JobQueue(this.store, name, HUB_OPTIONS),
      concurrency: CONCURRENCY,
      handlers: { [name]: (job: Job) => this.handle(job) },
    }));
    this.begin(
      new Worker(served, {
        id: this.name,
        sweepIntervalMs: 1_000,
        logFailures: false,
        ...(concurrency !== undefined && { concurrency }),
      }),
    );
  }

  /** Returns whether it has a free slot for a job of a queue. */
  isFree(queue: string): boolean {
    const runner = this.isUp && this.worker!['runners'].find(({ name }) => name === queue);
    return Boolean(runner && runner.capacity.freeForWait > 0 && this.worker!['parts'].slots.capacity() > 0);
  }

  /** Loses all messages for a while, as a half-open connection does, which is then replaced. */
  mute(ms: number): void {
    this.isMuted = true;
    this.world.clock.setTimeout(() => {
      this.isMuted = false;
      this.world.channels!.cut(this.name);
    }, ms);
  }

  protected override openStore(link: StoreLink): ClusterStore {
    const { random, channels, server } = this.world;
    const hub: HubLink = {
      delayMs: () => (random.chance(0.3) ? random.between(0, LONGEST_MESSAGE_MS) : 0),
      delivery: () => (this.isMuted ? 'lost' : this.clock.isFrozen ? 'late' : 'delivered'),
    };
    return new ClusterStore(this.clock, channels!, { server, link }, hub);
  }

  private async handle(job: Job): Promise<unknown> {
    const { history, random } = this.world;
    history.started(job);
    await this.sleep(random.chance(0.3) ? random.between(500, 3_000) : random.between(0, 100));
    if (random.chance(0.1)) {
      throw new Error('the handler fails');
    }
    return history.returned(job);
  }
}
