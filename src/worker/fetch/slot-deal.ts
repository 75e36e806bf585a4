import type { QueueRunner } from '../runner/queue-runner.js';
import { MOST_CLAIMED_AT_ONCE } from './idle-wait.js';

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
