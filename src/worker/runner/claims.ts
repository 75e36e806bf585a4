import type { Clock } from '../../queue/runtime/clock.js';
import type { ClaimReply, AttemptLimits, LeftJobs, OnlyNames } from '../../queue/store/attempt-forms.js';

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

/** The budget of a claim at the start, in bytes. */
const FIRST_BYTES = 256 * 1_024;

/** Bounds of the budget, in bytes. A claim brings its first job in any case. */
const LEAST_BYTES = 16 * 1_024;
const MOST_BYTES = 4 * 1_024 * 1_024;

/** A reply that fills the budget within this time has more room next time, in ms. */
const QUICK_MS = 250;

/** After a reply that took longer, in ms, the budget shrinks, because settlements and heartbeats wait behind it. */
const SLOW_MS = 2_000;

/**
 * The payload bytes that the claims of one connection may bring at a time. The budget follows the speed of the link:
 *
 * | state | event | next |
 * |---|---|---|
 * | any | a full reply came quickly | twice as much |
 * | any | a reply was slow | half as much |
 * | any | the connection was cut before the reply | half of what was asked for |
 */
export class ClaimBudget {
  private most = FIRST_BYTES;

  /** The budget in bytes. */
  get bytes(): number {
    return this.most;
  }

  /** @param isFull whether more jobs waited than the bytes allowed */
  answered(tookMs: number, isFull: boolean): void {
    if (tookMs > SLOW_MS) {
      this.limit(this.most / 2);
    } else if (isFull && tookMs < QUICK_MS) {
      this.limit(this.most * 2);
    }
  }

  /**
   * Returns what to ask for again after a cut. Several claims of one trip lower it once.
   *
   * @param askedBytes the budget when it was asked for
   */
  afterCut(askedBytes: number): number {
    this.limit(Math.min(this.most, askedBytes / 2));
    return this.most;
  }

  private limit(bytes: number): void {
    this.most = Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.floor(bytes)));
  }
}

/** The shortest wait for a job that is due later, in ms. */
const SHORTEST_DUE_MS = 1;

/** The same where other workers take the due jobs, in ms. So a job is later by this at most if all others stop. */
const LONGEST_DUE_MS = 20;

/** A job that is due within this time belongs to a burst, in ms. */
const BURST_MS = 10;

/** What a claim in a burst multiplies the shortest wait by. So two claims in three find a job. */
const [AFTER_NOTHING, AFTER_JOBS] = [2, Math.SQRT1_2];

/** The expectation of the next claim, from a runner's last claim. */
export class ClaimOutlook {
  /** Whether Redis has the announcement of this queue. Nothing is claimed without. */
  readonly announcement = new Announcement();
  /** True if the queue shares limits with others. A claim then needs permits. */
  private sharesLimits = false;
  private expectsJobs = true;
  private limited = false;
  private dueInMs: number | undefined;
  /** The monotonic time of the last reply, in ms. */
  private learnedAtMs = 0;
  private shortestMs = SHORTEST_DUE_MS;
  /** True if jobs wait for a slot of the queue or of their group. */
  private awaitsSlots = false;
  /** True if settlements that free such slots were sent since the last claim. */
  private freedSlots = false;
  /** True if a wake came since the last claim was sent. */
  private woken = false;
  /** True if the claim in flight was sent for a wake. */
  private followsWake = false;
  private repliesSoFar = 0;
  private unheard = false;
  private foreign = false;
  private replied: (() => void) | undefined;

  /**
   * @param now returns the monotonic time in ms
   * @param expected called when a claim may find something again
   * @param afterWake called after the claim that follows a wake, with whether it found a job
   */
  constructor(
    private readonly now: () => number,
    private readonly expected: () => void,
    private readonly afterWake: (foundJobs: boolean) => void = () => undefined,
  ) {}

  /** Notes that each claim needs permits of limits that the queue shares. */
  needsPermits(): void {
    this.sharesLimits = true;
  }

  /** True if a claim may find something: true until a claim returned too few jobs. */
  get mayHaveJobs(): boolean {
    return this.expectsJobs;
  }

  /** True if the last claim met limits, or the queue shares some. Then no job is claimed ahead. */
  get isLimited(): boolean {
    return this.limited || this.sharesLimits;
  }

  /** True if jobs wait for a slot of the queue or of their group. The next claim cannot find one. */
  get awaitsSlot(): boolean {
    return this.awaitsSlots && !this.expectsJobs;
  }

  /**
   * ms until the next scheduled job is due, or a limit lets the next one start. 0 only if the last claim did not take a due job.
   * Rounded down, because Redis counts from the begin of its millisecond, and timers are late by up to another.
   */
  get nextDueInMs(): number | undefined {
    return this.dueInMs && Math.max(SHORTEST_DUE_MS, Math.floor(this.dueInMs - (this.now() - this.learnedAtMs)));
  }

  /**
   * The shortest wait for a job that is due later, in ms. In a burst it grows while other workers take the due jobs first.
   * So a fleet looks about as often as jobs are due, and not as often as it has workers.
   */
  get shortestDueMs(): number {
    return this.shortestMs;
  }

  /** True if a wake came since the last claim was sent. That claim may not have seen its job. */
  get isWoken(): boolean {
    return this.woken;
  }

  /** The number of replies of claims. */
  get replies(): number {
    return this.repliesSoFar;
  }

  /** True if no wake reached this worker when a claim found too little last. */
  get isUnheard(): boolean {
    return this.unheard;
  }

  /** True once a claim brought a job of a producer of the Redis pattern, which sets no marker. */
  get meetsForeign(): boolean {
    return this.foreign;
  }

  /** Records a wake. A claim in flight may have missed its job, because the wake travels over another connection. */
  wake(): void {
    this.woken = true;
    this.expectJobs();
  }

  /** Records that a marker ended the wait before the claims in flight. */
  wakesClaims(): void {
    this.followsWake = true;
  }

  /** Records that jobs may have come since the last claim. */
  expectJobs(): void {
    this.expectsJobs = true;
    this.expected();
  }

  /** Records that a claim is sent, which finds all jobs, and all slots that were freed, before it. */
  claims(): void {
    this.freedSlots = false;
    this.followsWake = this.woken;
    this.woken = false;
  }

  /** Evaluates the reply of a claim. `asked` slots were reserved for its claim. */
  learn(reply: ClaimReply, asked: number): void {
    const found = reply.jobs.length + reply.refused.length;
    this.paceLooks(found > 0, reply.nextDueInMs);
    this.dueInMs = reply.nextDueInMs;
    this.learnedAtMs = this.now();
    this.limited = reply.isLimited;
    this.awaitsSlots = reply.awaitsSlots;
    this.repliesSoFar++;
    this.foreign ||= reply.isForeign === true;
    if (found < asked && !reply.isFull) {
      this.unheard = reply.isUnheard === true;
    }
    this.expectsJobs = false;
    if (this.woken || reply.isFull || reply.short || found >= asked || (reply.awaitsSlots && this.freedSlots)) {
      this.expectJobs();
    }
    if (this.followsWake) {
      this.afterWake(found > 0);
    }
    this.followsWake = false;
    this.replied?.();
  }

  /** Looks less often after a claim in a burst that found nothing, although a job was due. Another worker has taken it. */
  private paceLooks(foundJobs: boolean, nextDueInMs = Infinity): void {
    const { dueInMs = Infinity } = this;
    const wasDue = dueInMs <= BURST_MS && this.now() - this.learnedAtMs >= dueInMs;
    if (nextDueInMs > BURST_MS) {
      this.shortestMs = SHORTEST_DUE_MS;
    } else if (foundJobs) {
      this.shortestMs = Math.max(SHORTEST_DUE_MS, this.shortestMs * AFTER_JOBS);
    } else if (wasDue) {
      this.shortestMs = Math.min(LONGEST_DUE_MS, this.shortestMs * AFTER_NOTHING);
    }
  }

  /** Calls a listener after each reply of a claim. It replaces the listener before. */
  onReply(replied: () => void): void {
    this.replied = replied;
  }

  /** Records that settlements are sent. A slot that they free for a waiting job is claimed at once. */
  settles(count: number): void {
    if (count > 0 && this.limited) {
      this.freedSlots = true;
      if (this.awaitsSlots) {
        this.expectJobs();
      }
    }
  }
}

/**
 * What a worker knows of the announcement of a queue in Redis.
 *
 * - `known`: Redis has it. `renewing`: it is sent again meanwhile.
 * - `missing`: Redis does not have it. `sent`: it is being sent.
 * - `outdated`: it is being sent, and a claim found Redis without it meanwhile. The call may have arrived before Redis lost
 *   it, so another one follows.
 *
 * Claims are sent in the first two states only.
 */
type AnnouncementState = keyof typeof TRANSITIONS;

/**
 * `lost`: a claim found Redis without it. `send`: a call goes out. `stored`, `failed`: that call ended well or badly. `refused`: Redis
 * has a layout of the keys that this version cannot use.
 */
export type AnnouncementEvent = 'lost' | 'send' | 'stored' | 'failed' | 'refused';

/** The next state by state and event. One call is in flight at a time. */
const TRANSITIONS = {
  known: { lost: 'missing', send: 'renewing' },
  renewing: { lost: 'outdated', stored: 'known', failed: 'known', refused: 'missing' },
  missing: { lost: 'missing', send: 'sent' },
  sent: { lost: 'outdated', stored: 'known', failed: 'missing', refused: 'missing' },
  outdated: { lost: 'outdated', stored: 'missing', failed: 'missing', refused: 'missing' },
} as const;

/** The announcement of one queue. */
export class Announcement {
  private now: AnnouncementState = 'known';

  get state(): AnnouncementState {
    return this.now;
  }

  get isInFlight(): boolean {
    return !('send' in TRANSITIONS[this.now]);
  }

  get allowsClaims(): boolean {
    return this.now === 'known' || this.now === 'renewing';
  }

  /** Goes to the next state. @throws Error for an event that cannot come in this state */
  note(event: AnnouncementEvent): void {
    const next = (TRANSITIONS[this.now] as Partial<Record<AnnouncementEvent, AnnouncementState>>)[event];
    if (next === undefined) {
      throw new Error(`An announcement that is ${this.now} cannot be ${event}`);
    }
    this.now = next;
  }
}

/** The time without a job of another name after which the queue is claimed from normally, in ms. */
const QUIET_MS = 60_000;

/** The pause after a slice of a pass over the queue that had no job for this worker, in ms. */
const SLICE_PAUSE_MS = 2;

/** The pause between two claims, in ms, while jobs wait here that another live worker handles. */
const FOREIGN_POLL_MS = 100;

/** The least pause between two passes over the whole queue, in ms. */
const PASS_PAUSE_MS = 2_000;

/** The least pause after a pass, as a multiple of its duration. */
const PASS_PAUSE_FACTOR = 20;

/** The most remembered names of other workers. */
const MOST_NAMES = 100;

/**
 * Keeps a worker that handles only some names of a queue from claiming the others repeatedly. After it met another name
 * it claims only its own names, and the other jobs keep their places. Each claim reads the front, the back and a slice
 * between them. Passes over the whole queue are bounded in time.
 */
export class NameFilter {
  private metAt = -Infinity;
  private cursor = 0;
  private passBeganAt = 0;
  private nextPassAt = 0;
  private readonly names = new Set<string>();

  /** @param limits of all handlers of this worker, by name */
  constructor(
    private readonly limits: readonly AttemptLimits[],
    private readonly now: () => number,
  ) {}

  /** The names that the next claim asks for; undefined while it claims any job. */
  get only(): OnlyNames | undefined {
    const now = this.now();
    if (now - this.metAt > QUIET_MS) {
      return undefined;
    }
    if (this.cursor === -1 && now >= this.nextPassAt) {
      this.cursor = 0;
      this.passBeganAt = now;
    }
    return { limits: this.limits, cursor: this.cursor };
  }

  /** Records that a claim brought a job of another name. Returns whether this name is new, up to a number of names. */
  met(name: string): boolean {
    const now = this.now();
    if (now - this.metAt > QUIET_MS) {
      this.cursor = 0;
      this.passBeganAt = now;
    }
    this.metAt = now;
    const isNew = !this.names.has(name) && this.names.size < MOST_NAMES;
    return isNew && this.names.add(name).has(name);
  }

  /**
   * Records which jobs a claim left to others. Returns the pause until the next claim, in ms, or undefined if it must wait
   * for a wake-up.
   *
   * @param found how many jobs it brought
   */
  looked({ cursor, elsewhere, unserved }: LeftJobs, found: number): number | undefined {
    const now = this.now();
    if (elsewhere || unserved.length > 0) {
      this.metAt = now;
    }
    if (cursor === -1 && this.cursor !== -1) {
      this.nextPassAt = now + Math.max(PASS_PAUSE_MS, PASS_PAUSE_FACTOR * (now - this.passBeganAt));
    }
    const isHeld = found === 0 && cursor === this.cursor; // a limit lets none of its jobs start
    this.cursor = cursor;
    if (cursor !== -1 && !isHeld) {
      return found > 0 ? 0 : SLICE_PAUSE_MS;
    }
    return elsewhere ? FOREIGN_POLL_MS : undefined;
  }
}
