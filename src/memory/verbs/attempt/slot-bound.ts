// The limits that a claim meets. They bound what it takes ahead of a free slot, and its reply names them. See
// lua/lib/place/claim_waiting.lua and lua/lib/turn/take_head.lua.
import type { ClaimReply, ClaimRequest } from '../../../queue/store/store-calls.js';
import type { MemoryQueue } from '../../state/memory-queue.js';

export class SlotBound {
  private taken = 0;
  private hasMetGroup = false;
  private cut = false;

  constructor(
    private readonly queue: MemoryQueue,
    private readonly request: Pick<ClaimRequest, 'count' | 'slots'>,
  ) {}

  /** The number of jobs that may start at once. */
  get slots(): number {
    const { count, slots = count } = this.request;
    return Math.min(count, slots);
  }

  /** The most jobs of the claim. A limit of the queue lets none be claimed ahead. */
  get most(): number {
    return this.boundsAll ? this.slots : this.request.count;
  }

  /** Takes a job. Returns false if the claim ends before it: its group has a limit, and it cannot start at once. */
  takes(id: string): boolean {
    const isBound = this.isOfBoundGroup(id);
    this.hasMetGroup ||= isBound;
    this.cut = this.taken++ >= this.slots && isBound;
    return !this.cut;
  }

  /** True if the claim ended before a job that needs a free slot. Another worker may have one. */
  get isCut(): boolean {
    return this.cut;
  }

  /** Returns what the reply says of limits. */
  met(isRepeated: boolean): Pick<ClaimReply, 'isLimited' | 'awaitsSlots'> {
    const { queue, boundsAll } = this;
    const { flow, line } = queue;
    const { maxRunning } = flow.limits;
    if (isRepeated || queue.paused !== undefined) {
      const awaitsSlots = isRepeated && (flow.hasGroups || maxRunning !== undefined);
      return { isLimited: boundsAll || flow.hasGroups, awaitsSlots };
    }
    const inGroups = line.some((id) => queue.job(id)?.group !== undefined);
    const isLimited = boundsAll || (flow.hasGroups && (this.hasMetGroup || (inGroups && !flow.isOpen(line))));
    return { isLimited, awaitsSlots: isLimited && (inGroups || (maxRunning !== undefined && line.length > 0)) };
  }

  private get boundsAll(): boolean {
    const { flow, restsUntil, now } = this.queue;
    const { maxRunning, rateLimit } = flow.limits;
    return maxRunning !== undefined || rateLimit !== undefined || restsUntil > now;
  }

  private isOfBoundGroup(id: string): boolean {
    const { flow } = this.queue;
    const group = this.queue.job(id)?.group;
    const { maxRunning, rateLimit } = group === undefined ? {} : flow.limitsOf(group);
    return maxRunning !== undefined || rateLimit !== undefined;
  }
}
