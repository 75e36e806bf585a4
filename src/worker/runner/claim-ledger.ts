import type { Clock } from '../../queue/runtime/clock.js';
import type { ClaimBudget } from './claim-budget.js';

/** `trip` for a claim that is answered at once, `wait` for one behind a wait. */
export type ClaimStream = 'trip' | 'wait';

/** A claim in flight, and the slots that its jobs may fill. */
export interface ClaimInFlight {
  readonly token: string;
  readonly worker: string;
  readonly stream: ClaimStream;
  /** The number of reserved slots. */
  readonly count: number;
  /** How many of its jobs start at once. */
  readonly atOnce: number;
  /** The time of the call, by the monotonic clock, in ms. */
  readonly askedAtMs: number;
}

/** The claims of a runner in flight. A claim is in it from its call to its reply, or to its final error. */
export class ClaimLedger {
  private reserved = 0;
  private reservedAtOnce = 0;
  /** The claims in flight whose slots others may use. Their jobs wait here for a slot. */
  private readonly lent = new Set<ClaimInFlight>();
  private lentSlots = 0;
  private readonly newest: Record<ClaimStream, ClaimInFlight | undefined> = { trip: undefined, wait: undefined };

  /**
   * @param budget the payload bytes that a claim may bring
   * @param changed called after each change
   */
  constructor(
    private readonly clock: Clock,
    readonly budget: ClaimBudget,
    private readonly changed: () => void,
  ) {}

  /** The slots that claims in flight may fill. Slots that were lent because a reply is late do not count. */
  get slots(): number {
    return this.reserved;
  }

  /** The jobs that claims in flight may bring, also those whose reply is late. */
  get inFlight(): number {
    return this.reserved + this.lentSlots;
  }

  /** The jobs of claims in flight that start at once. */
  get atOnce(): number {
    return this.reservedAtOnce;
  }

  /** Reserves slots for a claim that is sent now. */
  reserve(asked: Omit<ClaimInFlight, 'token'>): ClaimInFlight {
    const claim = { token: this.clock.randomId(), ...asked };
    this.reserved += claim.count;
    this.reservedAtOnce += claim.atOnce;
    this.newest[claim.stream] = claim;
    this.changed();
    return claim;
  }

  /** Frees the slots of a claim that got no permits. Returns the smaller claim. */
  shrink(claim: ClaimInFlight, count: number): ClaimInFlight {
    const smaller = { ...claim, count, atOnce: Math.min(claim.atOnce, count) };
    this.reserved -= claim.count - count;
    this.reservedAtOnce -= claim.atOnce - smaller.atOnce;
    this.newest[claim.stream] = smaller;
    this.changed();
    return smaller;
  }

  /** Frees the slots of a claim, because its jobs are here, or never come. */
  end(claim: ClaimInFlight): void {
    if (this.lent.delete(claim)) {
      this.lentSlots -= claim.count;
    } else {
      this.reserved -= claim.count;
      this.reservedAtOnce -= claim.atOnce;
    }
    this.changed();
    if (this.newest[claim.stream] === claim) {
      this.newest[claim.stream] = undefined; // else the next claim of the stream is already in flight
    }
  }

  /** Frees the slots of a claim whose reply is late. */
  lend(claim: ClaimInFlight): void {
    this.reserved -= claim.count;
    this.reservedAtOnce -= claim.atOnce;
    this.lent.add(claim);
    this.lentSlots += claim.count;
    this.changed();
  }

  /** Returns the claims that were asked for by then, whose jobs are not known here yet. */
  askedBy(atMs: number): ClaimInFlight[] {
    const { trip, wait } = this.newest;
    return [trip, wait].filter((claim) => claim !== undefined && claim.askedAtMs <= atMs) as ClaimInFlight[];
  }
}
