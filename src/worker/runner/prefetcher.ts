import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { Attempt } from '../attempt/attempt.js';
import { PrefetchLimit } from './prefetch-limit.js';
import type { SharedTurns } from './queue-runner-host.js';

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
