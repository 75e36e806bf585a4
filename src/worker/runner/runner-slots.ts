import { slotBounds, type SlotRange } from '../../queue/model/slots.js';
import type { WorkerDetails } from '../../queue/model/worker-record.js';
import type { BulkGatherers } from '../handlers/bulk-gatherers.js';
import type { ClaimOutlook } from './claims.js';
import type { Prefetcher, SharedTurns } from './prefetcher.js';

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
  readonly prefetcher: Pick<Prefetcher, 'count' | 'first' | 'isAllowed' | 'room' | 'roomForWait' | 'leastPerClaim'>;
  readonly settlements: { readonly unsettled: number; readonly blocksClaims: boolean };
  /** Undefined without a bulk handler. */
  readonly bulk: BulkGatherers | undefined;
}

/** What a runner does now. */
export interface RunnerState {
  /** The number of jobs that have a slot. */
  running: number;
  /** True during a local pause, and from a stop on: nothing is claimed, and nothing begins. */
  isClosed: boolean;
  /** True while nothing is claimed for a moment, after an error or a pass over other names. */
  isResting: boolean;
  /** True if the idle wait listens for this runner. */
  isBlockedOn: boolean;
  /** True once a job has begun here, which may have left a promise behind. */
  hasBegun: boolean;
}

export function newRunnerState(): RunnerState {
  return { running: 0, isClosed: false, isResting: false, isBlockedOn: false, hasBegun: false };
}

/** The slots of the lightest and the heaviest job of a queue. */
interface SlotWeights {
  readonly lightest: number;
  readonly heaviest: number;
  /** The slots of each handler, by its name, as they are announced. */
  readonly all: NonNullable<WorkerDetails['weights']>;
}

/** Returns the slots that one job of each handler takes. A handler with a range may get its lightest or its heaviest job. */
export function weightsOf(handlers: ReadonlyMap<string, { slots?: number | SlotRange | undefined }>): SlotWeights {
  const bounds = [...handlers.values()].map(({ slots }) => slotBounds(slots));
  const heaviest = Math.max(1, ...bounds.map((each) => each.heaviest));
  return {
    lightest: Math.min(heaviest, ...bounds.map((each) => each.lightest)),
    heaviest,
    all: [...handlers].map(([name, { slots = 1 }]) =>
      typeof slots === 'number' ? { name, slots } : { name, slots: slots.default ?? 1, most: slots.most },
    ),
  };
}

/**
 * The slots of a queue runner: how many jobs it may claim and start. A slot of a bulk handler is a call. A job may take several,
 * see docs/internals/slots.md.
 */
export class RunnerSlots {
  /** The slots beyond one for each job, of claimed and of begun jobs. */
  private readonly extra = { claimed: 0, begun: 0 };

  constructor(
    private readonly owner: SlotOwner,
    private slots: number,
    private readonly weights: SlotWeights,
  ) {}

  /** The slots of its heaviest job. */
  get heaviest(): number {
    return this.weights.heaviest;
  }

  /** The slots of the jobs of each name; none if each job takes one. */
  get announced(): SlotWeights['all'] {
    return this.heaviest > 1 ? this.weights.all : [];
  }

  /** Counts a job that was claimed. */
  jobClaimed(slots: number): void {
    this.extra.claimed += slots - 1;
  }

  /** Counts a job that begins. */
  jobBegins(slots: number): void {
    this.extra.begun += slots - 1;
  }

  /** Counts a job that has left. @param hadSlot whether it had begun */
  jobLeft(slots: number, hadSlot: boolean): void {
    this.extra.claimed -= slots - 1;
    this.extra.begun -= hadSlot ? slots - 1 : 0;
  }

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
      state.isClosed ||
      (bulk
        ? bulk.room(state.running, prefetcher.count) <= 0
        : attempts.size + this.extra.claimed + this.weights.lightest > this.roomForWait)
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
    const { heaviest } = this.weights;
    const jobs =
      heaviest === 1 ? this.roomOf(this.concurrency) : Math.floor(this.unclaimed(this.concurrency) / heaviest);
    return Math.max(0, jobs);
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
    const { bulk, state, prefetcher, claims } = this.owner;
    return bulk
      ? bulk.used(state.running, prefetcher.count + claims.slots)
      : Math.max(this.begun, Math.min(this.concurrency, this.claimed + claims.slots * this.heaviest));
  }

  /** The slots that its claimed jobs use, or wait for. */
  get claimed(): number {
    const { bulk, state, prefetcher, attempts } = this.owner;
    return bulk ? bulk.used(state.running, prefetcher.count) : attempts.size + this.extra.claimed;
  }

  /** The slots of jobs, or calls, that have begun. */
  get begun(): number {
    const { bulk, state } = this.owner;
    return bulk?.calls(state.running) ?? state.running + this.extra.begun;
  }

  /** The slots that nobody else may use: those of running jobs, and of jobs in flight that start at once. */
  get taken(): number {
    const { bulk, claims } = this.owner;
    return bulk ? this.used : this.begun + claims.atOnce * this.heaviest;
  }

  /** Returns whether its own concurrency lets the next job, or another call, begin. */
  get hasOwnSlot(): boolean {
    return this.hasOwnSlotsFor(this.next);
  }

  /** Returns whether the next job, or another call, may begin. */
  get hasSlot(): boolean {
    return this.hasSlotsFor(this.next);
  }

  /** Returns whether a job that takes this number of slots may begin. A call of a bulk handler takes one. */
  hasSlotsFor(slots: number): boolean {
    const { bulk, host } = this.owner;
    const isShared = bulk ? host.shared?.hasSlotForCall : host.shared?.hasSlotsFor(slots);
    return this.hasOwnSlotsFor(slots) && (isShared ?? true);
  }

  private hasOwnSlotsFor(slots: number): boolean {
    return !this.owner.state.isClosed && this.begun + slots <= this.concurrency;
  }

  /** The slots of the job that begins next. */
  private get next(): number {
    return this.owner.prefetcher.first?.attempt.slots ?? 1;
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
    const { bulk, state, prefetcher, claims } = this.owner;
    return bulk ? bulk.room(state.running, prefetcher.count + claims.slots) : this.jobsIn(this.unclaimed(room));
  }

  /** Returns the slots of a room that no claimed job takes. A job in flight may be the heaviest. */
  private unclaimed(room: number): number {
    const { claims, attempts } = this.owner;
    return room - attempts.size - this.extra.claimed - claims.slots * this.heaviest;
  }

  /** Returns how many jobs may be claimed for free slots. At most one that may have to wait for more of them. */
  private jobsIn(free: number): number {
    const { lightest, heaviest } = this.weights;
    if (heaviest === 1) return free;
    return free >= heaviest ? Math.floor(free / heaviest) : free >= lightest ? 1 : Math.min(0, free);
  }
}
