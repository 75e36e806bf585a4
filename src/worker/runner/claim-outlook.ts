import type { ClaimReply } from '../../queue/store/attempt-forms.js';

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
