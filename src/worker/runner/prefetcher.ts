import { systemClock, type Clock, type Timer } from '../../queue/runtime/clock.js';
import type { Attempt } from '../attempt/attempt.js';

/** The time in which a prefetched job must start by default, in ms, at the recent completion rate. */
const BEGINS_WITHIN_MS = 5;

/** The default limit of prefetched jobs, because they start late if this process dies. */
const MAX_PREFETCH = 10;

/**
 * The most jobs in this process by default, running ones included. With more slots a slot is free sooner. From this number
 * on, the call that starts a prefetched job costs more time than it saves.
 */
const MAX_LOCAL_JOBS = 20;

/**
 * The time, in ms, after which all prefetched jobs are released by default if one has not started. At one to two times this time, the job
 * before it is long.
 */
const RELEASED_AFTER_MS = 50;

/** The pause of prefetching after that, in ms. If one job is long, another soon will be. */
const COOLDOWN_MS = 10_000;

/** The state of a runner that prefetching depends on. */
export interface PrefetchOwner {
  /** The slots of claims in flight, whose jobs come after the waiting ones. */
  readonly claiming: number;
  release(attempt: Attempt): void;
}

interface Waiting {
  attempt: Attempt;
  askedAtMs: number;
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
    this.waiting.push({ attempt, askedAtMs });
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

  jobEnded(): void {
    this.ended++;
  }

  /**
   * Sets the room from the jobs that ended since the last measure. It measures once every slot had a turn, or once a job
   * has waited its longest. The lower of two rates counts: long jobs that started together also end together.
   *
   * @param now in ms
   */
  measure(now: number): void {
    const elapsed = now - this.measuredAt;
    const isShort = elapsed < BEGINS_WITHIN_MS || (this.ended < this.concurrency && elapsed < RELEASED_AFTER_MS);
    if (this.prefetch !== undefined || isShort) {
      return;
    }
    const pace = now < this.restsUntil ? 0 : Math.floor((this.ended * BEGINS_WITHIN_MS) / elapsed);
    this.most = Math.max(0, Math.min(pace, this.paceBefore, MAX_PREFETCH, MAX_LOCAL_JOBS - this.concurrency));
    this.paceBefore = pace;
    this.ended = 0;
    this.measuredAt = now;
  }

  /** Checks later whether the jobs that wait now have started. */
  private watch(latest: Waiting = this.waiting.at(-1)!): void {
    const dueMs = this.clock.monotonic() + RELEASED_AFTER_MS;
    const look = () => {
      this.timer = undefined;
      if (this.waiting.includes(latest)) {
        this.releaseInTurn(latest, this.clock.monotonic() - dueMs);
      } else if (!this.isEmpty) {
        this.watch();
      }
    };
    this.timer = this.clock.setTimeout(look, RELEASED_AFTER_MS);
    this.timer.unref();
  }

  /**
   * Waits for a claim in flight, because its jobs would otherwise start before the released ones. Also waits after the
   * process was suspended, because the job before them was suspended too.
   */
  private releaseInTurn(latest: Waiting, lateMs: number): void {
    if (lateMs > RELEASED_AFTER_MS / 2) {
      this.watch(latest);
      return;
    }
    this.most = 0;
    if (this.owner.claiming > 0) {
      this.watch(latest);
    } else {
      this.restsUntil = this.clock.monotonic() + COOLDOWN_MS;
      this.releaseWaiting();
    }
  }
}
