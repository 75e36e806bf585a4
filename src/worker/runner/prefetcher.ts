import { AsyncResource } from 'node:async_hooks';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { Attempt } from '../attempt/attempt.js';
import { startAttempts, type AttemptStarter, type Starting } from '../attempt/start-attempt.js';

/** The time, in ms, after which all prefetched jobs are released by default if one has not started. The job before it is long. */
const RELEASED_AFTER_MS = 10;

/** A timer that is late by more, in ms, shows that the process was suspended, and the job before too. */
const SUSPENDED_MS = 4;

/** The time between two looks while a claim is in flight, in ms. */
const LOOKS_AGAIN_MS = 2;

/** The runner that prefetches. */
export interface PrefetchOwner {
  readonly clock: Clock;
  /** The claims in flight, whose jobs come after the waiting ones. */
  readonly claims: { readonly inFlight: number };
  readonly capacity: { readonly hasOwnSlot: boolean };
  readonly host: { readonly shared?: SharedTurns | undefined };
  release(attempt: Attempt): void;
}

/** A job that waits for a slot. Its turn is by the time of its claim, then by its place in that claim. */
interface WaitingJob {
  readonly attempt: Attempt;
  readonly askedAtMs: number;
  readonly place: number;
  /** When it began to wait here. */
  sinceMs: number;
}

/** The jobs of a runner that were claimed before a slot was free for them. `prefetch` sets how many, or their pace does. */
export class Prefetcher {
  /**
   * The number of jobs of a blocking wait that may be prefetched. By default none: another worker may have a free slot for them.
   */
  readonly roomForWait: number;
  private readonly limit: PrefetchLimit;
  private readonly waiting: WaitingJob[] = [];
  private timer: Timer | undefined;

  constructor(
    concurrency: number,
    private readonly prefetch: number | undefined,
    private readonly owner: PrefetchOwner,
  ) {
    this.limit = new PrefetchLimit(concurrency, owner.clock);
    this.roomForWait = prefetch ?? 0;
  }

  setConcurrency(concurrency: number): void {
    this.limit.setConcurrency(concurrency);
  }

  /** False if `prefetch` forbids to claim a job without a slot. */
  get isAllowed(): boolean {
    return this.prefetch !== 0;
  }

  /** How many jobs may be prefetched now. */
  get room(): number {
    return this.prefetch ?? this.limit.room;
  }

  /** The fewest jobs worth a claim while no slot is free. With `prefetch` each job. */
  get leastPerClaim(): number {
    return this.prefetch === undefined ? this.limit.leastPerClaim : 1;
  }

  /** The number of waiting jobs. */
  get count(): number {
    return this.waiting.length;
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  /** The job that begins next. */
  get first(): WaitingJob | undefined {
    return this.waiting[0];
  }

  /** @param askedAtMs when its claim was asked for, which is before it was made */
  add(attempt: Attempt, askedAtMs: number): void {
    const last = this.waiting.at(-1);
    const place = last?.askedAtMs === askedAtMs ? last.place + 1 : 0;
    this.waiting.push({ attempt, askedAtMs, place, sinceMs: this.owner.clock.monotonic() });
    this.owner.host.shared?.count(this.owner);
    if (this.prefetch === undefined && !this.timer) {
      this.watch();
    }
  }

  /** Removes and returns the first waiting job. */
  next(): WaitingJob | undefined {
    const next = this.waiting.shift();
    this.owner.host.shared?.count(this.owner);
    return next;
  }

  /** Removes a waiting job. Returns false if it does not wait here. */
  drop(attempt: Attempt): boolean {
    const at = this.waiting.findIndex((each) => each.attempt === attempt);
    if (at < 0) {
      return false;
    }
    this.waiting.splice(at, 1);
    this.owner.host.shared?.count(this.owner);
    return true;
  }

  /** Releases all waiting jobs. */
  releaseWaiting(): void {
    const released = this.waiting.splice(0);
    this.owner.host.shared?.count(this.owner);
    released.forEach(({ attempt }) => this.owner.release(attempt));
  }

  /** @param ranMs how long its handler ran */
  jobEnded(ranMs: number): void {
    this.limit.jobEnded(ranMs);
    this.owner.host.shared?.limit.jobEnded(ranMs);
  }

  /** Learns how long the round trip of a claim took. */
  tripEnded(tookMs: number): void {
    this.limit.tripEnded(tookMs);
    this.owner.host.shared?.limit.tripEnded(tookMs);
  }

  /** @param now in ms */
  measure(now: number): void {
    if (this.prefetch === undefined) {
      this.limit.measure(now);
    }
  }

  /** Checks later whether the job that waits longest has started. */
  private watch(inMs = RELEASED_AFTER_MS): void {
    const { clock } = this.owner;
    const dueMs = clock.monotonic() + inMs;
    const check = () => {
      this.timer = undefined;
      if (!this.isEmpty) {
        this.releaseLate(clock.monotonic(), dueMs);
      }
    };
    this.timer = clock.setTimeout(check, inMs);
    this.timer.unref();
  }

  /**
   * Releases the waiting jobs if the first has waited too long. Waits for a claim in flight, because its jobs would
   * otherwise start before the released ones.
   */
  private releaseLate(now: number, dueMs: number): void {
    if (now - dueMs > SUSPENDED_MS) {
      this.waiting.forEach((each) => (each.sinceMs = now));
    }
    const leftMs = this.waiting[0]!.sinceMs + RELEASED_AFTER_MS - now;
    if (leftMs > 0) {
      return this.watch(leftMs);
    }
    const limits = this.limitsReached();
    limits.forEach((limit) => limit.stop());
    if (this.owner.claims.inFlight > 0) {
      return this.watch(LOOKS_AGAIN_MS);
    }
    limits.forEach((limit) => limit.rest());
    this.releaseWaiting();
  }

  /** Returns the limits that allowed too much: its own, and that of all queues if they use the slots. */
  private limitsReached(): PrefetchLimit[] {
    const { capacity, host } = this.owner;
    return host.shared && capacity.hasOwnSlot ? [this.limit, host.shared.limit] : [this.limit];
  }
}

/** The time in which a prefetched job must start by default, in ms, at the recent completion rate. */
const BEGINS_WITHIN_MS = 7;

/** The shortest time between two measures of the completion rate, in ms. */
const MEASURES_APART_MS = 5;

/** The number of jobs of one claim that a worker prefetches by default, so that a trip brings several. */
const JOBS_OF_A_TRIP = 10;

/**
 * The number of jobs in this process at which a claim is large enough, running ones included. Slots whose handlers end
 * at once need no more. The others prefetch what starts while the next jobs are on their way.
 */
const JOBS_OF_A_LARGE_TRIP = 100;

/** The running time below which handlers end at once, in ms. They are limited by the CPU, and not by their slots. */
const INSTANT_MS = 0.25;

/** The weight of the latest value in a moving average. */
const LATEST_WEIGHT = 0.1;

/** The longest time without a measure of the completion rate, in ms. */
const MEASURED_AFTER_MS = 50;

/** Bounds of a pause of prefetching, in ms. It doubles each time, because if one job is long, another soon will be. */
const SHORTEST_COOLDOWN_MS = 1_000;
const LONGEST_COOLDOWN_MS = 16_000;

/**
 * How many jobs may be prefetched for some slots: those of a queue, or of all queues of a process. The number follows the
 * recent completion rate, so slow jobs are never prefetched.
 */
export class PrefetchLimit {
  private most = 0;
  private ended = 0;
  private paceBefore = 0;
  private measuredAt = -Infinity;
  private restsUntil = -Infinity;
  private cooldownMs = SHORTEST_COOLDOWN_MS;
  /** The moving average of a claim's round trip, in ms. */
  private tripMs = 0;
  /** The moving average of a handler's running time, in ms. */
  private runMs = 0;

  constructor(
    private concurrency: number,
    private readonly clock: Clock,
  ) {}

  setConcurrency(concurrency: number): void {
    this.concurrency = concurrency;
  }

  /** How many jobs may be prefetched now. */
  get room(): number {
    return this.most;
  }

  /**
   * The fewest jobs worth a claim while no slot is free. Half of the room, so that a claim brings several jobs, and the
   * other half covers its trip.
   */
  get leastPerClaim(): number {
    return Math.ceil(this.most / 2);
  }

  /** @param ranMs how long its handler ran */
  jobEnded(ranMs: number): void {
    this.ended++;
    this.runMs += LATEST_WEIGHT * (ranMs - this.runMs);
  }

  /** Learns how long the round trip of a claim took. */
  tripEnded(tookMs: number): void {
    this.tripMs += LATEST_WEIGHT * (tookMs - this.tripMs);
  }

  /**
   * Sets the room from the jobs that ended since the last measure. It measures once every slot had a turn, or after a
   * while. The lower of two rates counts: long jobs that started together also end together.
   *
   * @param now in ms
   */
  measure(now: number): void {
    const elapsed = now - this.measuredAt;
    if (elapsed < MEASURES_APART_MS || (this.ended < this.concurrency && elapsed < MEASURED_AFTER_MS)) {
      return;
    }
    const pace = now < this.restsUntil ? 0 : this.ended / elapsed;
    this.most = this.roomAt(Math.min(pace, this.paceBefore));
    this.paceBefore = pace;
    this.ended = 0;
    this.measuredAt = now;
  }

  /** Allows nothing until the next measure. */
  stop(): void {
    this.most = 0;
  }

  /** Allows nothing for a while. The pause is short again once the last one is long over. */
  rest(): void {
    const now = this.clock.monotonic();
    this.stop();
    if (now < this.restsUntil) {
      return;
    }
    const isRepeated = now - this.restsUntil < LONGEST_COOLDOWN_MS;
    this.cooldownMs = isRepeated ? Math.min(2 * this.cooldownMs, LONGEST_COOLDOWN_MS) : SHORTEST_COOLDOWN_MS;
    this.restsUntil = now + this.cooldownMs;
  }

  /**
   * Returns how many jobs to hold at a rate. They are what ends while a claim and a settlement travel, or enough for one
   * trip. In any case no more than starts within a few ms.
   *
   * @param pace jobs per ms
   */
  private roomAt(pace: number): number {
    const startsSoon = Math.floor(pace * BEGINS_WITHIN_MS);
    const endsMeanwhile = Math.ceil(pace * 2 * this.tripMs);
    const most = this.runMs < INSTANT_MS ? Math.max(0, JOBS_OF_A_LARGE_TRIP - this.concurrency) : Infinity;
    return Math.min(startsSoon, Math.max(JOBS_OF_A_TRIP, endsMeanwhile), most);
  }
}

/** The runner whose waiting jobs begin. */
interface TurnOwner extends AttemptStarter {
  readonly clock: Clock;
  readonly prefetcher: Prefetcher;
  readonly capacity: { readonly hasSlot: boolean; readonly hasTurn: boolean };
  readonly state: { readonly running: number };
  /** Undefined without a bulk handler. */
  readonly bulk: { beginDue(): void } | undefined;
  readonly host: AttemptStarter['host'] & { settle(): void; readonly shared?: SharedTurns | undefined };
  /** Gives an attempt a slot. Returns false if it has ended before its start. */
  givesSlot(attempt: Attempt): boolean;
}

/**
 * Begins the waiting jobs of a runner: at once, or together with others of the same turn. The handlers of many slots often
 * end in one turn of the event loop, because timers and replies come together. Their successors share the call that
 * stores their starts.
 */
export class BeginTurn {
  /** True if a job began in this turn while others ran. */
  private hasBegun = false;
  private isAsked = false;

  constructor(private readonly owner: TurnOwner) {}

  /** Begins jobs here, or where it is the turn of another queue. */
  ask(): void {
    const { bulk, host } = this.owner;
    if (bulk || !host.shared) {
      this.askHere();
    }
    host.shared?.ask();
  }

  /** Begins jobs if a slot is free. Not within the end of another job, because its completion is sent first. */
  askHere(): void {
    const { prefetcher, bulk, capacity, state } = this.owner;
    if ((prefetcher.isEmpty && !bulk) || !capacity.hasSlot || this.isAsked) {
      return;
    }
    const othersRun = state.running > 0;
    if (this.hasBegun && othersRun) {
      this.isAsked = true;
      return;
    }
    void Promise.resolve().then(this.begin); // a test may fake queueMicrotask
    if (othersRun && !this.hasBegun) {
      this.hasBegun = true;
      this.owner.clock.afterReads(this.endTurn);
    }
  }

  private readonly endTurn = (): void => {
    this.hasBegun = false;
    if (this.isAsked) {
      this.isAsked = false;
      this.begin();
    }
  };

  /** Bound to where the runner was made, and not to the end of the job before. */
  private readonly begin = AsyncResource.bind((): void => {
    const { owner } = this;
    const starting: Starting[] = [];
    while (!owner.prefetcher.isEmpty && owner.capacity.hasTurn) {
      const { attempt, askedAtMs } = owner.prefetcher.next()!;
      if (owner.givesSlot(attempt)) {
        starting.push({ attempt, waitedMs: owner.clock.monotonic() - askedAtMs });
      }
    }
    if (starting.length > 0) {
      owner.host.settle();
      startAttempts(owner, starting);
    }
    owner.bulk?.beginDue();
    owner.host.shared?.ask();
  });
}

/** The slots that all queues of a process share under its own limit. */
export interface SharedTurns {
  /** How many jobs may be prefetched for these slots. */
  readonly limit: PrefetchLimit;
  /** Returns whether this number of slots is free. Claims in flight have reserved theirs. */
  hasSlotsFor(slots: number): boolean;
  /** True if another call of a bulk handler may begin. */
  readonly hasSlotForCall: boolean;
  /** True if the jobs here use all slots, or wait for them. */
  readonly isFull: boolean;
  /** Returns whether the next free slot is for a job that waits in this runner. */
  isNext(runner: object): boolean;
  /** Begins the waiting jobs of the runner that is next. */
  ask(): void;
  /** Counts the slots and the waiting jobs of a runner again. Called after each change of them. */
  count(runner: object): void;
}
