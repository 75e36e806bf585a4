import type { BulkGatherers } from '../bulk/bulk-gatherers.js';
import type { ClaimOutlook } from './claim-outlook.js';
import type { Prefetcher } from './prefetcher.js';
import type { SharedTurns } from './queue-runner-host.js';
import type { RunnerState } from './runner-state.js';

/** Back-pressure: a runner stops claiming while more rounds of settlements are unacknowledged. One is in flight while the next ends. */
const MAX_UNSETTLED_ROUNDS = 2;

/** The jobs of a queue runner in this process. */
interface SlotOwner {
  readonly state: Readonly<RunnerState>;
  /** A queue is not claimed from before the store has the announcement. One whose last claim met limits prefetches nothing. */
  readonly outlook: Pick<ClaimOutlook, 'announcement' | 'isLimited' | 'awaitsSlot'>;
  /** Claimed jobs that have not ended. */
  readonly attempts: { readonly size: number };
  readonly claims: { readonly slots: number; readonly atOnce: number };
  readonly host: { readonly shared?: SharedTurns | undefined };
  readonly prefetcher: Pick<Prefetcher, 'count' | 'isAllowed' | 'room' | 'roomForWait' | 'leastPerClaim'>;
  readonly settlements: { readonly unsettled: number; readonly blocksClaims: boolean };
  /** Undefined without a bulk handler. */
  readonly bulk: BulkGatherers | undefined;
}

/** The slots of a queue runner: how many jobs it may claim and start. A slot of a bulk handler is a call. */
export class RunnerSlots {
  constructor(
    private readonly owner: SlotOwner,
    private slots: number,
  ) {}

  /** The number of jobs, or calls of a bulk handler, that may run at once. */
  get concurrency(): number {
    return this.slots;
  }

  setConcurrency(concurrency: number): void {
    this.slots = concurrency;
    this.owner.host.shared?.count(this.owner);
  }

  /** Returns whether nothing is waited for here: all slots are busy, or the runner is closed. */
  get isFull(): boolean {
    const { state, bulk, attempts, prefetcher } = this.owner;
    return (
      state.isClosed || (bulk ? bulk.room(state.running, prefetcher.count) <= 0 : attempts.size >= this.roomForWait)
    );
  }

  /** How many more jobs may be claimed now, by the last measured rate. */
  get free(): number {
    const { outlook, prefetcher } = this.owner;
    const free = this.freeOf(this.concurrency + (outlook.isLimited ? 0 : prefetcher.room));
    return free < prefetcher.leastPerClaim && this.beginAtOnce === 0 ? 0 : free;
  }

  /**
   * The most jobs of one claim: half of the slots if limits were met. Redis claims one half while the other runs.
   */
  get mostPerClaim(): number {
    return this.owner.outlook.isLimited ? Math.ceil((this.concurrency * this.perSlot) / 2) : Infinity;
  }

  /** How many more jobs a blocking wait may claim. */
  get freeForWait(): number {
    return this.freeOf(this.roomForWait);
  }

  /** How many of the claimed jobs start at once. */
  get beginAtOnce(): number {
    return Math.max(0, this.roomOf(this.concurrency));
  }

  /** The jobs that fit into one slot: those of one call. */
  get perSlot(): number {
    return this.owner.bulk?.size ?? 1;
  }

  /** Returns whether a job may be claimed here before a slot is free for it. */
  get claimsAhead(): boolean {
    const { bulk, outlook, prefetcher } = this.owner;
    return !bulk && !outlook.isLimited && prefetcher.isAllowed;
  }

  /** The slots that its claimed jobs use or could use. */
  get used(): number {
    const { bulk, state, prefetcher, claims, attempts } = this.owner;
    return bulk
      ? bulk.used(state.running, prefetcher.count + claims.slots)
      : Math.max(state.running, Math.min(this.concurrency, attempts.size + claims.slots));
  }

  /** The slots that its claimed jobs use, or wait for. */
  get claimed(): number {
    const { bulk, state, prefetcher, attempts } = this.owner;
    return bulk ? bulk.used(state.running, prefetcher.count) : attempts.size;
  }

  /** The slots of jobs, or calls, that have begun. */
  get begun(): number {
    const { bulk, state } = this.owner;
    return bulk?.calls(state.running) ?? state.running;
  }

  /** The slots that nobody else may use: those of running jobs, and of jobs in flight that start at once. */
  get taken(): number {
    const { bulk, state, claims } = this.owner;
    return bulk ? this.used : state.running + claims.atOnce;
  }

  /** Returns whether its own concurrency lets another job, or another call, begin. */
  get hasOwnSlot(): boolean {
    return !this.owner.state.isClosed && this.begun < this.concurrency;
  }

  /** Returns whether another job, or another call, may begin. */
  get hasSlot(): boolean {
    const { bulk, host } = this.owner;
    const isShared = bulk ? host.shared?.hasSlotForCall : host.shared?.hasSlot;
    return this.hasOwnSlot && (isShared ?? true);
  }

  /** Returns whether a waiting job may begin: a slot is free, and it is the turn of this queue. */
  get hasTurn(): boolean {
    return this.hasSlot && (this.owner.host.shared?.isNext(this.owner) ?? true);
  }

  /**
   * Returns whether nothing is claimed before jobs end here. The waiting jobs of bulk handlers need more calls than may begin. Or
   * the slots of the process are used, or those of the whole queue.
   */
  get claimsNoMore(): boolean {
    const { bulk, state, host, outlook } = this.owner;
    return (bulk?.isSpokenFor(state.running) ?? false) || host.shared?.isFull === true || outlook.awaitsSlot;
  }

  /** Returns whether claims in flight ask for more than there is room for. */
  get isOverdrawn(): boolean {
    return this.owner.claims.slots > 0 && this.roomOf(this.concurrency) < 0;
  }

  /** The most jobs of a wait in the worker. Other claims may bring more. */
  private get roomForWait(): number {
    const { outlook, prefetcher } = this.owner;
    return this.concurrency + (outlook.isLimited ? 0 : prefetcher.roomForWait);
  }

  private freeOf(room: number): number {
    const { settlements, state, outlook } = this.owner;
    const isBehind = settlements.unsettled > MAX_UNSETTLED_ROUNDS * room * this.perSlot;
    const isHeld =
      state.isClosed ||
      state.isResting ||
      !outlook.announcement.allowsClaims ||
      settlements.blocksClaims ||
      isBehind;
    return isHeld ? 0 : Math.max(0, this.roomOf(room));
  }

  private roomOf(room: number): number {
    const { bulk, state, prefetcher, claims, attempts } = this.owner;
    const { slots } = claims;
    return bulk ? bulk.room(state.running, prefetcher.count + slots) : room - attempts.size - slots;
  }
}
