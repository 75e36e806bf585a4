import type { Clock } from '../../queue/runtime/clock.js';
import type { CrashIsolation } from '../runner/crash-isolation.js';
import { PrefetchLimit, type SharedTurns } from '../runner/prefetcher.js';
import type { QueueRunner } from '../runner/queue-runner.js';

/** The number of runners above which a wake-up only names the queue. A module-wide limit has the same effect. */
export const MOST_CLAIMED_AT_ONCE = 4;

const NO_ROOM: ClaimRoom = { slots: 0, jobs: 0 };
const UNLIMITED: ClaimRoom = { slots: Infinity, jobs: Infinity };

/** The slots of the process, as the waits for jobs ask for them. */
export interface WaitRoom {
  /** Returns how many more jobs the process may claim, so how many slots a blocking wait may fill. */
  readonly capacity: () => number;
  /** Returns whether jobs use all slots of the process. Claims in flight do not count, because they may find nothing. */
  readonly hasNoSlot: () => boolean;
}

/** Says what the process may claim: by its own limit, and while a job runs alone. */
export class ProcessCapacity implements WaitRoom {
  /** Undefined without a limit of the process. */
  readonly shared: SharedSlots | undefined;

  constructor(
    limit: number | undefined,
    private readonly runners: () => readonly QueueRunner[],
    private readonly isolation: CrashIsolation,
    clock: Clock,
  ) {
    this.shared = limit === undefined ? undefined : new SharedSlots(limit, clock);
  }

  /** Returns what may be claimed now. @param now in ms, by the monotonic clock */
  readonly measuredRoom = (now: number): ClaimRoom => {
    this.shared?.limit.measure(now);
    return this.room;
  };

  readonly capacity = (): number => this.room.slots;

  readonly hasNoSlot = (): boolean => this.isolation.isActive || this.shared?.isFull === true;

  private get room(): ClaimRoom {
    return this.isolation.isActive ? NO_ROOM : (this.shared?.room ?? UNLIMITED);
  }

  /** Returns whether there is nothing to claim for. */
  get isFull(): boolean {
    return this.hasNoSlot() || this.runners().every((runner) => runner.capacity.isFull);
  }
}

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

/** What a process may claim. */
export interface ClaimRoom {
  /** The free slots. */
  readonly slots: number;
  /** The jobs for these slots, and the jobs that may wait for others. */
  readonly jobs: number;
}

/** The part of a runner in a trip. */
export interface Share {
  readonly runner: QueueRunner;
  /** The number of jobs to claim. */
  readonly count: number;
  /** How many of them start at once. */
  readonly atOnce: number;
}

/**
 * Deals what the process may claim to the runners. With a module-wide limit it is dealt in turns, so that every runner gets
 * its share. Busy runners leave no slot for a blocking wait. So the other runners are polled at intervals, or the looks
 * find their jobs.
 */
export class SlotDeal {
  /**
   * The runners that may have jobs. The first are those whose turn it is to get slots of the process. A process may have
   * thousands of others, which leave the line at the next trip.
   */
  private readonly line: Set<QueueRunner>;
  /** True if no looks find the jobs of idle queues while others use all slots. */
  private readonly pollsIdle: boolean;

  /**
   * @param mostPerCall the most jobs of one claim
   * @param toOne true if one runner gets all slots at a time. Its claim then brings many jobs
   */
  constructor(
    runners: readonly QueueRunner[],
    private readonly mostPerCall: number,
    private readonly toOne = false,
  ) {
    this.line = new Set(runners);
    this.pollsIdle = runners.length <= MOST_CLAIMED_AT_ONCE;
  }

  /** Drops idle runners from the line. Returns the others, in turn. With a few runners it returns all. */
  inTurn(): readonly QueueRunner[] {
    for (const runner of this.pollsIdle ? [] : this.line) {
      if (!runner.outlook.mayHaveJobs) {
        this.line.delete(runner);
      }
    }
    return [...this.line];
  }

  /** Puts a runner into the line, at its end unless it is there. */
  join(runner: QueueRunner): void {
    this.line.add(runner);
  }

  deal(runners: readonly QueueRunner[], room: ClaimRoom): Share[] {
    const shares: Share[] = [];
    const isLimited = Number.isFinite(room.jobs);
    const able = runners.filter(
      (runner) =>
        (runner.outlook.mayHaveJobs || (isLimited && this.pollsIdle && runner.isOverdueForPoll)) &&
        runner.capacity.free > 0,
    );
    const mayHaveJobs = this.toOne ? able.slice(0, 1) : able;
    // Waiting jobs own the freed slots. So a runner whose jobs may not wait would never get one.
    const ahead = mayHaveJobs.every(({ capacity }) => capacity.claimsAhead);
    let [slots, jobs] = [room.slots, ahead ? room.jobs : room.slots];
    if (isLimited) {
      this.moveBack(mayHaveJobs.slice(0, jobs % mayHaveJobs.length)); // the runners that get one more than others
    }
    for (let i = 0; i < mayHaveJobs.length && jobs > 0; i++) {
      const sharers = mayHaveJobs.length - i;
      const share = this.shareOf(mayHaveJobs[i]!, Math.ceil(slots / sharers), Math.ceil(jobs / sharers));
      if (share.count > 0) {
        const { perSlot, heaviest } = share.runner.capacity;
        slots -= Math.ceil(share.atOnce / perSlot) * heaviest;
        jobs -= Math.ceil(share.count / perSlot) * heaviest;
        shares.push(share);
      }
    }
    if (this.toOne) {
      this.moveBack(shares.map(({ runner }) => runner));
    } else if (isLimited) {
      // A heavy job takes more than its part of the slots.
      this.moveBack(shares.map(({ runner }) => runner).filter(({ capacity }) => capacity.heaviest > 1));
    }
    return shares;
  }

  /** Returns how many jobs a runner may claim. Without a slot only a runner that prefetches. */
  private shareOf(runner: QueueRunner, slots: number, jobs: number): Share {
    const { free, perSlot, mostPerClaim, beginAtOnce, claimsAhead, heaviest } = runner.capacity;
    if (heaviest > 1) {
      const fitting = Math.floor(slots / heaviest);
      const count = Math.min(free, Math.max(fitting, Math.min(slots, 1)), mostPerClaim, this.mostPerCall);
      return { runner, count, atOnce: Math.min(count, beginAtOnce, fitting) };
    }
    const count = Math.min(free, (claimsAhead ? jobs : slots) * perSlot, mostPerClaim, this.mostPerCall);
    return { runner, count, atOnce: Math.min(count, beginAtOnce, slots * perSlot) };
  }

  private moveBack(runners: readonly QueueRunner[]): void {
    for (const runner of runners) {
      this.line.delete(runner);
      this.line.add(runner);
    }
  }
}
