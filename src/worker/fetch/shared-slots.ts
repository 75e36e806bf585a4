import type { Clock } from '../../queue/runtime/clock.js';
import { PrefetchLimit } from '../runner/prefetch-limit.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import type { SharedTurns } from '../runner/queue-runner-host.js';
import type { ClaimRoom } from './slot-deal.js';

/**
 * The slots that all queues of a process share. Each slot has one owner: a running job, or a job in flight that starts at
 * once. Free slots belong to the jobs that wait here, in the order in which they were asked for. Jobs of one trip take
 * turns by queue. So no queue takes the freed slots while a job of another waits.
 */
export class SharedSlots implements SharedTurns {
  readonly limit: PrefetchLimit;

  constructor(
    private readonly concurrency: number,
    private readonly runners: () => readonly QueueRunner[],
    clock: Clock,
  ) {
    this.limit = new PrefetchLimit(concurrency, clock);
  }

  /** What may be claimed, for free slots and ahead of others. Waiting jobs have a claim on free slots. */
  get room(): ClaimRoom {
    const { room, leastPerClaim } = this.limit;
    const free = this.concurrency - this.sum('used');
    const jobs = Math.max(0, free + room);
    return { slots: Math.max(0, free), jobs: free <= 0 && jobs < leastPerClaim ? 0 : jobs };
  }

  get hasSlot(): boolean {
    return this.sum('taken') < this.concurrency;
  }

  isNext(runner: object): boolean {
    return this.next === runner;
  }

  ask(): void {
    this.next?.turn.askHere();
  }

  /** The runner whose waiting job is first, of those whose own concurrency lets it begin. */
  private get next(): QueueRunner | undefined {
    let next: QueueRunner | undefined;
    for (const runner of this.runners()) {
      if (!runner.prefetcher.isEmpty && runner.capacity.hasOwnSlot && (!next || isBefore(runner, next))) {
        next = runner;
      }
    }
    return next;
  }

  private sum(kind: 'used' | 'taken'): number {
    let sum = 0;
    for (const { capacity } of this.runners()) {
      sum += capacity[kind];
    }
    return sum;
  }
}

function isBefore({ prefetcher: a }: QueueRunner, { prefetcher: b }: QueueRunner): boolean {
  const [first, second] = [a.first!, b.first!];
  return first.askedAtMs === second.askedAtMs ? first.place < second.place : first.askedAtMs < second.askedAtMs;
}
