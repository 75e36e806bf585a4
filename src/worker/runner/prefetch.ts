import { systemClock, type Clock, type Timer } from '../../queue/runtime/clock.js';
import type { Attempt } from '../attempt/attempt.js';

/** By default jobs are claimed ahead only as far as they begin within so many ms, at the pace of late. */
const BEGINS_WITHIN_MS = 5;

/** By default no more are claimed ahead than so many: they come late where this process dies. */
const MAX_PREFETCH = 10;

/**
 * By default so many jobs are at hand, those that run among them. The more slots, the sooner one is free, until the call by
 * which each job claimed ahead begins costs more time than it saves.
 */
const MAX_LOCAL_JOBS = 20;

/** By default all goes back once one has not begun for so many ms, or twice as many: the job before it is a long one. */
const GOES_BACK_AFTER_MS = 50;

/** So long nothing is claimed ahead after that, in ms: where some jobs are long, another soon will be. */
const COOLDOWN_MS = 10_000;

/** What a runner tells of itself. */
export interface PrefetchOwner {
  /** Slots of claims under way, which may bring what comes behind those that wait. */
  readonly claiming: number;
  giveBack(attempt: Attempt): void;
}

interface Waiting {
  attempt: Attempt;
  askedAtMs: number;
}

/**
 * The jobs of a runner that were claimed before a slot was free for them. How many there may be is said by `prefetch`; where
 * it is not, as many as ended here within a few ms of late, so that of jobs that take long there are none.
 */
export class Prefetcher {
  private most: number;
  /** How many there may be of what a wait brings: none by default, since by then another worker may have a slot for it. */
  readonly roomForWait: number;
  private readonly waiting: Waiting[] = [];
  private ended = 0;
  private paceBefore = 0;
  private measuredAt = -Infinity;
  private restsUntil = -Infinity;
  private timer: Timer | undefined;

  constructor(
    public concurrency: number,
    private readonly prefetch: number | undefined,
    private readonly owner: PrefetchOwner,
    private readonly clock: Clock = systemClock,
  ) {
    this.roomForWait = prefetch ?? 0;
    this.most = this.roomForWait;
  }

  /** How many there may be now. */
  get room(): number {
    return this.most;
  }

  /** How many wait. */
  get count(): number {
    return this.waiting.length;
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  /** @param askedAtMs when its claim was asked for, which is before it was made */
  add(attempt: Attempt, askedAtMs: number): void {
    this.waiting.push({ attempt, askedAtMs });
    if (this.prefetch === undefined && !this.timer) {
      this.watch();
    }
  }

  /** The first of them, which waits no more. */
  next(): Waiting | undefined {
    return this.waiting.shift();
  }

  /** Gives back all that wait. */
  giveBack(): void {
    this.waiting.splice(0).forEach(({ attempt }) => this.owner.giveBack(attempt));
  }

  jobEnded(): void {
    this.ended++;
  }

  /**
   * Sets the room by what has ended since the last measure, once all slots had their turn or as much time is over as a job
   * may wait. It is the lower of two paces: long jobs that began together also end together, and look quick once.
   *
   * @param now in ms
   */
  measure(now: number): void {
    const elapsed = now - this.measuredAt;
    const isShort = elapsed < BEGINS_WITHIN_MS || (this.ended < this.concurrency && elapsed < GOES_BACK_AFTER_MS);
    if (this.prefetch !== undefined || isShort) {
      return;
    }
    const pace = now < this.restsUntil ? 0 : Math.floor((this.ended * BEGINS_WITHIN_MS) / elapsed);
    this.most = Math.max(0, Math.min(pace, this.paceBefore, MAX_PREFETCH, MAX_LOCAL_JOBS - this.concurrency));
    this.paceBefore = pace;
    this.ended = 0;
    this.measuredAt = now;
  }

  /** Looks in a while whether those that wait now have begun. */
  private watch(latest: Waiting = this.waiting.at(-1)!): void {
    const dueMs = this.clock.monotonic() + GOES_BACK_AFTER_MS;
    const look = () => {
      this.timer = undefined;
      if (this.waiting.includes(latest)) {
        this.giveBackInTurn(latest, this.clock.monotonic() - dueMs);
      } else if (!this.isEmpty) {
        this.watch();
      }
    };
    this.timer = this.clock.setTimeout(look, GOES_BACK_AFTER_MS);
    this.timer.unref();
  }

  /**
   * What a claim under way brings would be here, and begin, before what went back: it is waited for. And where this process
   * stood still, so did the job before.
   */
  private giveBackInTurn(latest: Waiting, lateMs: number): void {
    if (lateMs > GOES_BACK_AFTER_MS / 2) {
      this.watch(latest);
      return;
    }
    this.most = 0;
    if (this.owner.claiming > 0) {
      this.watch(latest);
    } else {
      this.restsUntil = this.clock.monotonic() + COOLDOWN_MS;
      this.giveBack();
    }
  }
}
