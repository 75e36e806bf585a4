import type { Clock } from '../../queue/runtime/clock.js';
import type { CrashIsolation } from '../runner/crash-isolation.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import { SharedSlots } from './shared-slots.js';
import type { ClaimRoom } from './slot-deal.js';

const NO_ROOM: ClaimRoom = { slots: 0, jobs: 0 };
const UNLIMITED: ClaimRoom = { slots: Infinity, jobs: Infinity };

/** Says what the process may claim: by its own limit, and while a job runs alone. */
export class ProcessCapacity {
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

  /** Returns how many slots a blocking wait may fill. */
  readonly capacity = (): number => this.room.slots;

  /** Returns whether jobs use all slots of the process. Claims in flight use none, because they may find nothing. */
  readonly hasNoSlot = (): boolean => this.isolation.isActive || this.shared?.isFull === true;

  private get room(): ClaimRoom {
    return this.isolation.isActive ? NO_ROOM : (this.shared?.room ?? UNLIMITED);
  }

  /** Returns whether there is nothing to claim for. */
  get isFull(): boolean {
    return this.hasNoSlot() || this.runners().every((runner) => runner.capacity.isFull);
  }
}
