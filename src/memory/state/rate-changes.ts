import type { GroupLimits, QueueLimits, RateLimit } from '../../queue/model/limits.js';
import { costInMs } from './gcra.js';
import type { GroupState } from './group-state.js';

function isSame(one: RateLimit | undefined, other: RateLimit | undefined): boolean {
  return one?.periodMs === other?.periodMs && one?.limit === other?.limit;
}

/** Remembers when rates changed: a claim before a change paid another amount, so it gets nothing back. */
export class RateChanges {
  private ofQueue = -1;
  private ofGroups = -1;

  constructor(private readonly queue: { readonly sequence: number }) {}

  /** Notes new limits of the queue. */
  note(before: QueueLimits, after: QueueLimits): void {
    if (!isSame(before.rateLimit, after.rateLimit)) {
      this.ofQueue = this.queue.sequence;
    }
    if (!isSame(before.groups?.rateLimit, after.groups?.rateLimit)) {
      this.ofGroups = this.queue.sequence;
    }
  }

  /** Notes new limits of one group. */
  noteGroup(group: GroupState, after: GroupLimits | undefined): void {
    const before = group.own?.rateLimit;
    if (before && !after?.rateLimit) {
      this.ofGroups = this.queue.sequence;
    } else if (!isSame(before, after?.rateLimit)) {
      group.rateSetAt = this.queue.sequence;
    }
  }

  /** Returns the refund of a job to the rate of its queue, in ms. */
  refundOfQueue(job: Record<string, string>, rate: RateLimit | undefined): number {
    return refundOf(job, rate, this.ofQueue);
  }

  /** Returns the refund of a job to the rate of its group, in ms. */
  refundOfGroup(
    job: Record<string, string>,
    group: GroupState,
    own: RateLimit | undefined,
    all: RateLimit | undefined,
  ): number {
    return own ? refundOf(job, own, group.rateSetAt ?? -1) : refundOf(job, all, this.ofGroups);
  }
}

function refundOf(job: Record<string, string>, rate: RateLimit | undefined, setAt: number): number {
  return Number(job.fence ?? 0) > setAt ? costInMs(rate, Number(job.cost ?? 1)) : 0;
}
