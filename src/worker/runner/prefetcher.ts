import { systemClock, type Clock, type Timer } from '../../queue/runtime/clock.js';
import type { Attempt } from '../attempt/attempt.js';

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

/** The time, in ms, after which all prefetched jobs are released by default if one has not started. The job before it is long. */
const RELEASED_AFTER_MS = 10;

/** A timer that is late by more, in ms, shows that the process was suspended, and the job before too. */
const SUSPENDED_MS = 4;

/** The time between two looks while a claim is in flight, in ms. */
const LOOKS_AGAIN_MS = 2;

/** Bounds of the pause of prefetching after that, in ms. It doubles each time, because if one job is long, another soon will be. */
const SHORTEST_COOLDOWN_MS = 1_000;
const LONGEST_COOLDOWN_MS = 16_000;

/** The state of a runner that prefetching depends on. */
export interface PrefetchOwner {
  /** The claims in flight, whose jobs come after the waiting ones. */
  readonly claims: { readonly slots: number };
  release(attempt: Attempt): void;
}

interface Waiting {
  attempt: Attempt;
  askedAtMs: number;
  /** When it began to wait here. */
  sinceMs: number;
}

/**
 * The jobs of a runner that were claimed before a slot was free for them. `prefetch` sets the limit. Without it the
 * limit follows the recent completion rate, so slow jobs are never prefetched.
 */
export class Prefetcher {
  private most: number;
  /**
   * The number of jobs of a blocking wait that may be prefetched. By default none: another worker may have a free slot for them.
   */
  readonly roomForWait: number;
  private readonly waiting: Waiting[] = [];
  private ended = 0;
  private paceBefore = 0;
  private measuredAt = -Infinity;
  private restsUntil = -Infinity;
  private cooldownMs = SHORTEST_COOLDOWN_MS;
  private timer: Timer | undefined;
  /** The moving average of a claim's round trip, in ms. */
  private tripMs = 0;
  /** The moving average of a handler's running time, in ms. */
  private runMs = 0;

  constructor(
    private concurrency: number,
    private readonly prefetch: number | undefined,
    private readonly owner: PrefetchOwner,
    private readonly clock: Clock = systemClock,
  ) {
    this.roomForWait = prefetch ?? 0;
    this.most = this.roomForWait;
  }

  setConcurrency(concurrency: number): void {
    this.concurrency = concurrency;
  }

  /** How many jobs may be prefetched now. */
  get room(): number {
    return this.most;
  }

  /** The number of waiting jobs. */
  get count(): number {
    return this.waiting.length;
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  /** @param askedAtMs when its claim was asked for, which is before it was made */
  add(attempt: Attempt, askedAtMs: number): void {
    this.waiting.push({ attempt, askedAtMs, sinceMs: this.clock.monotonic() });
    if (this.prefetch === undefined && !this.timer) {
      this.watch();
    }
  }

  /** Removes and returns the first waiting job. */
  next(): Waiting | undefined {
    return this.waiting.shift();
  }

  /** Releases all waiting jobs. */
  releaseWaiting(): void {
    this.waiting.splice(0).forEach(({ attempt }) => this.owner.release(attempt));
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
   * The fewest jobs worth a claim while no slot is free. Half of the room, so that a claim brings several jobs, and the
   * other half covers its trip. With `prefetch` each job.
   */
  get leastPerClaim(): number {
    return this.prefetch === undefined ? Math.ceil(this.most / 2) : 1;
  }

  /**
   * Sets the room from the jobs that ended since the last measure. It measures once every slot had a turn, or after a
   * while. The lower of two rates counts: long jobs that started together also end together.
   *
   * @param now in ms
   */
  measure(now: number): void {
    const elapsed = now - this.measuredAt;
    const isShort = elapsed < MEASURES_APART_MS || (this.ended < this.concurrency && elapsed < MEASURED_AFTER_MS);
    if (this.prefetch !== undefined || isShort) {
      return;
    }
    const pace = now < this.restsUntil ? 0 : this.ended / elapsed;
    this.most = this.roomAt(Math.min(pace, this.paceBefore));
    this.paceBefore = pace;
    this.ended = 0;
    this.measuredAt = now;
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

  /** Checks later whether the job that waits longest has started. */
  private watch(inMs = RELEASED_AFTER_MS): void {
    const dueMs = this.clock.monotonic() + inMs;
    const check = () => {
      this.timer = undefined;
      if (!this.isEmpty) {
        this.releaseLate(this.clock.monotonic(), dueMs);
      }
    };
    this.timer = this.clock.setTimeout(check, inMs);
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
    this.most = 0;
    if (this.owner.claims.slots > 0) {
      return this.watch(LOOKS_AGAIN_MS);
    }
    this.rest(now);
    this.releaseWaiting();
  }

  /** Prefetches nothing for a while. The pause is short again once the last one is long over. */
  private rest(now: number): void {
    const isRepeated = now - this.restsUntil < LONGEST_COOLDOWN_MS;
    this.cooldownMs = isRepeated ? Math.min(2 * this.cooldownMs, LONGEST_COOLDOWN_MS) : SHORTEST_COOLDOWN_MS;
    this.restsUntil = now + this.cooldownMs;
  }
}
