import type { JobQueue } from '../../queue/job-queue.js';
import { LONGEST_TRIP_MS } from '../../queue/runtime/bounds.js';
import { keptIn } from '../../queue/runtime/collections.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';

/** The watches of queues with shards, by their shards. */
const ofShards = new WeakMap<readonly JobQueue[], DrainedWatch>();

/** The shards of a queue, or the queue itself. */
type Shards = readonly [JobQueue, ...JobQueue[]];

/**
 * Publishes once that the queue is drained, after this worker's jobs have ended and a claim found no other. The shards of a queue
 * share a watch; see docs/internals/spread.md.
 */
export class DrainedWatch {
  private hasEnded = false;
  private isAsking = false;
  private hasWarned = false;
  /** The shard that had jobs at the last look. It is asked first. */
  private busy: JobQueue;

  private constructor(
    private readonly shards: Shards,
    private readonly warn: (message: string) => void,
  ) {
    [this.busy] = shards;
  }

  /** Returns undefined if the queue does not ask for the event. */
  static of(queue: JobQueue, warn: (message: string) => void): DrainedWatch | undefined {
    const { events, eventExtras } = queue.options;
    if (!eventExtras?.drained || events === 'off') {
      return undefined;
    }
    const { allShards } = queue;
    return allShards
      ? keptIn(ofShards, allShards, () => new DrainedWatch(allShards as Shards, warn))
      : new DrainedWatch([queue], warn);
  }

  jobEnded(): void {
    this.hasEnded = true;
  }

  /** @param known how many jobs a claim found, and this worker has */
  claimed(known: number): void {
    if (known === 0 && this.hasEnded && !this.isAsking) {
      this.isAsking = true;
      void this.ask().finally(() => (this.isAsking = false));
    }
  }

  private async ask(): Promise<void> {
    try {
      this.hasEnded = false;
      const isBusy = await (this.shards.length > 1 ? this.areBusy() : this.isBusy());
      // This worker's settlement may be in flight, or another worker may run jobs, so the next idle moment asks again.
      this.hasEnded ||= isBusy;
      this.hasWarned = false;
    } catch (error) {
      this.hasEnded = true;
      const { name } = this.shards[0];
      if (!this.hasWarned)
        this.warn(`Could not publish that queue "${name}" has drained: ${(error as Error).message}`);
      this.hasWarned = true;
    }
  }

  /** Publishes the event in the first shard, unless a job waits or runs there. Returns whether it does. */
  private async isBusy(ofAll?: string): Promise<boolean> {
    return (await this.exec(this.shards[0], (calls) => calls.publishDrained({ ofAll }))) === 'busy';
  }

  /**
   * Does the same if no job waits or runs in any shard. It looks twice, because a job may add another one where it has looked. If no
   * job has ended between the looks, all shards were empty at one instant.
   */
  private async areBusy(): Promise<boolean> {
    const [first, ...others] = this.shards;
    const before = (await this.look([this.busy])) && (await this.look([first, ...others]));
    const after = before && (await this.look(others));
    const isSame = after !== undefined && after.every((ended, i) => ended === before![i + 1]);
    return !isSame || this.isBusy(before!.join(','));
  }

  /** Returns how many jobs have ended in each shard; undefined if jobs wait or run in one. */
  private async look(shards: readonly JobQueue[]): Promise<string[] | undefined> {
    const ended = await Promise.all(shards.map((shard) => this.exec(shard, (calls) => calls.lookDrained())));
    const idle = ended.filter((each) => each !== undefined);
    if (idle.length === shards.length) {
      return idle;
    }
    this.busy = shards[ended.indexOf(undefined)]!;
    return undefined;
  }

  private exec<Reply>(shard: JobQueue, build: (calls: StoreCalls) => StoreCall<Reply>): Promise<Reply> {
    return shard.store.exec(build(shard.uncheckedCalls()), { timeoutMs: LONGEST_TRIP_MS });
  }
}
