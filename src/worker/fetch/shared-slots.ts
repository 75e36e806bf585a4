import type { Clock } from '../../queue/runtime/clock.js';
import { PrefetchLimit } from '../runner/prefetch-limit.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import type { SharedTurns } from '../runner/queue-runner-host.js';
import type { ClaimRoom } from './slot-deal.js';

/** Counts of slots; see RunnerSlots. */
interface SlotCounts {
  /** No other queue may claim for them. */
  used: number;
  /** No other queue may begin a job in them. */
  taken: number;
  /** Jobs that are here use them, or wait for them. */
  claimed: number;
}

/**
 * The slots that all queues of a process share. Each slot has one owner: a running job, or a job in flight that starts at
 * once. Free slots belong to the jobs that wait here, in the order in which they were asked for. Jobs of one trip take
 * turns by queue. So no queue takes the freed slots while a job of another waits.
 */
export class SharedSlots implements SharedTurns {
  readonly limit: PrefetchLimit;
  private readonly counts: SlotCounts = { used: 0, taken: 0, claimed: 0 };
  private readonly partOf = new WeakMap<QueueRunner, SlotCounts>();
  /** The runners with waiting jobs. */
  private readonly waiting = new Set<QueueRunner>();
  /** The runners with bulk handlers. Their slots change with each gathered job, so they are counted when asked. */
  private readonly ofBulk = new Set<QueueRunner>();

  constructor(
    private slots: number,
    clock: Clock,
  ) {
    this.limit = new PrefetchLimit(slots, clock);
  }

  /** How many slots there are. */
  get concurrency(): number {
    return this.slots;
  }

  setConcurrency(concurrency: number): void {
    this.slots = concurrency;
    this.limit.setConcurrency(concurrency);
  }

  /** What may be claimed, for free slots and ahead of others. Waiting jobs have a claim on free slots. */
  get room(): ClaimRoom {
    const { room, leastPerClaim } = this.limit;
    const free = this.concurrency - this.sum('used');
    const jobs = Math.max(0, free + room);
    return { slots: Math.max(0, free), jobs: free <= 0 && jobs < leastPerClaim ? 0 : jobs };
  }

  hasSlotsFor(slots: number): boolean {
    return this.sum('taken') + slots <= this.concurrency;
  }

  /**
   * True if another call of a bulk handler may begin. Only what has begun counts. Gathered jobs of many groups may need more
   * calls than there are slots, and would wait for each other.
   */
  get hasSlotForCall(): boolean {
    let begun = this.counts.taken;
    for (const { capacity } of this.ofBulk) {
      begun += capacity.begun;
    }
    return begun < this.concurrency;
  }

  /** True if the jobs here use all slots. */
  get isFull(): boolean {
    return this.sum('claimed') >= this.concurrency;
  }

  isNext(runner: object): boolean {
    return this.next === runner;
  }

  ask(): void {
    this.next?.turn.askHere();
    for (const { bulk, capacity, turn } of this.ofBulk) {
      if (bulk!.hasDue && capacity.hasSlot) {
        turn.askHere();
      }
    }
  }

  count(runner: QueueRunner): void {
    const { capacity, prefetcher, bulk } = runner;
    if (bulk) {
      this.ofBulk.add(runner);
    } else {
      const { used, taken, claimed } = capacity;
      const before = this.partOf.get(runner) ?? { used: 0, taken: 0, claimed: 0 };
      this.counts.used += used - before.used;
      this.counts.taken += taken - before.taken;
      this.counts.claimed += claimed - before.claimed;
      this.partOf.set(runner, Object.assign(before, { used, taken, claimed }));
    }
    if (prefetcher.isEmpty) {
      this.waiting.delete(runner);
    } else {
      this.waiting.add(runner);
    }
  }

  /** The runner whose waiting job is first, of those whose own concurrency lets it begin. */
  private get next(): QueueRunner | undefined {
    let next: QueueRunner | undefined;
    for (const runner of this.waiting) {
      if (runner.capacity.hasOwnSlot && (!next || isBefore(runner, next))) {
        next = runner;
      }
    }
    return next;
  }

  private sum(kind: keyof SlotCounts): number {
    let sum = this.counts[kind];
    for (const { capacity } of this.ofBulk) {
      sum += capacity[kind];
    }
    return sum;
  }
}

function isBefore({ prefetcher: a }: QueueRunner, { prefetcher: b }: QueueRunner): boolean {
  const [first, second] = [a.first!, b.first!];
  return first.askedAtMs === second.askedAtMs ? first.place < second.place : first.askedAtMs < second.askedAtMs;
}
