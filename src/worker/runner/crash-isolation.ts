import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { Attempt } from '../attempt/attempt.js';
import { charge } from '../attempt/start-attempt.js';
import type { QueueRunner } from './queue-runner.js';

interface Isolated {
  runner: QueueRunner;
  attempt: Attempt;
  askedAtMs: number;
}

/** The time without a job, in ms, before an isolated job starts. An ended job may have left a promise that rejects. */
const QUIET_MS = 5_000;

/** The least time, in ms, for which an isolated job may run alone. */
const SHORTEST_ALONE_MS = 30_000;

/**
 * Runs isolated jobs one at a time and alone in this worker. An isolated job has crashed a worker, and one more crash
 * would make it a dead letter. The worker claims nothing more, the running jobs end and are settled, some seconds pass,
 * then the job starts. So a job that kills its worker takes no other with it. No leftover of an ended job kills it.
 * Further isolated jobs follow at once. Until the leftovers of the one before are gone, they run uncharged. A worker in which no job has begun starts it first, and releases the other jobs of its claims. The wait for
 * running jobs takes at most the visibility timeout. The run alone takes at most that or 30 s. Then the worker claims
 * again beside the job.
 */
export class CrashIsolation {
  private readonly waiting: Isolated[] = [];
  private current: Isolated | undefined;
  /** True if running jobs or unanswered claims took too long, so that the worker no longer waits for them. */
  private waited = false;
  /** True if the worker's first claims have an isolated job, until it begins. */
  private isFirst = false;
  private isCalm = false;
  private timer: Timer | undefined;
  private quietTimer: Timer | undefined;
  /** Charges the running job once nothing left behind can end the process. */
  private chargeTimer: Timer | undefined;
  /** The end of the isolated job before, by the monotonic clock; undefined if other jobs may have run since. */
  private endedAtMs: number | undefined;
  private clock: Clock | undefined;

  constructor(
    private readonly runners: () => readonly QueueRunner[],
    private readonly changed: () => void,
  ) {}

  /** Returns whether the worker must claim nothing more. */
  get isActive(): boolean {
    return this.waiting.length > 0 || this.current !== undefined || (this.isFirst && this.isComing);
  }

  /** Returns whether jobs of the same claims as an isolated one go back, because it starts first. */
  get sendsBack(): boolean {
    return this.isFirst;
  }

  /** Called with a claim that has an isolated job, before any job of the claims of its trip begins. */
  expect(): void {
    this.isFirst ||= this.isFresh;
  }

  /** @param askedAtMs when its claim was requested, which is before Redis made it */
  isolate(runner: QueueRunner, attempt: Attempt, askedAtMs: number): void {
    this.waiting.push({ runner, attempt, askedAtMs });
    if (!this.timer) {
      this.limit(runner, 0);
    }
  }

  /** Starts the next job if it is time. Called in each tick in which a job started or ended here. */
  check(): void {
    if (this.current && !this.current.runner.attempts.has(this.current.attempt)) {
      if (!this.waited) {
        this.limit(this.current.runner, 0);
        this.endedAtMs = this.current.runner.clock.monotonic();
      }
      this.current = undefined;
    }
    if (this.current) {
      return;
    }
    const next = this.waiting.find(({ runner }) => !runner.state.isClosed);
    if (this.waiting.length === 0) {
      this.rest();
    } else if (next && this.mayBegin(next.runner)) {
      this.waiting.splice(this.waiting.indexOf(next), 1);
      this.current = next;
      this.isFirst = false;
      this.endQuiet();
      this.limit(next.runner, SHORTEST_ALONE_MS);
      this.begin(next);
    }
  }

  /** Begins a job, uncharged while the isolated job before it may have left something behind. */
  private begin({ runner, attempt, askedAtMs }: Isolated): void {
    const now = runner.clock.monotonic();
    const leftMs = this.endedAtMs === undefined ? 0 : this.endedAtMs + QUIET_MS - now;
    this.clock?.clear(this.chargeTimer);
    if (leftMs > 0) {
      attempt.chargeLater();
      this.chargeTimer = runner.clock.setTimeout(() => charge(runner, attempt), leftMs);
      this.chargeTimer.unref();
    }
    runner.begin(attempt, now - askedAtMs);
  }

  /** Releases the isolated jobs of a closed runner that have not started. */
  releaseOf(runner: QueueRunner): void {
    for (const each of this.waiting.filter((isolated) => isolated.runner === runner)) {
      this.waiting.splice(this.waiting.indexOf(each), 1);
      runner.release(each.attempt);
    }
  }

  /** Releases all isolated jobs that have not started, because the process ends. */
  releaseAll(): void {
    this.waiting.splice(0).forEach(({ runner, attempt }) => runner.release(attempt));
  }

  /** True if an isolated job waits for permits of its key. */
  private get isComing(): boolean {
    return this.runners().some(({ keys }) => keys?.hasIsolated);
  }

  private get isFresh(): boolean {
    return !this.runners().some(({ state }) => state.hasBegun);
  }

  /** Returns whether nothing else runs, and nothing did for a while. */
  private mayBegin(runner: QueueRunner): boolean {
    if (!this.isQuiet) {
      if (this.quietTimer) {
        this.endQuiet();
        this.limit(runner, 0);
      }
      return false;
    }
    const mayBegin = this.waited || this.isCalm || this.isFresh || this.endedAtMs !== undefined;
    if (!mayBegin && !this.quietTimer) {
      this.clock?.clear(this.timer); // the wait for running jobs is over
      this.quietTimer = runner.clock.setTimeout(() => {
        this.isCalm = true;
        this.changed();
      }, QUIET_MS);
      this.quietTimer.unref();
    }
    return mayBegin;
  }

  private endQuiet(): void {
    this.clock?.clear(this.quietTimer);
    this.quietTimer = undefined;
    this.isCalm = false;
  }

  /** A claim in flight may bring jobs that start at once, so it is waited for like a running job. */
  private get isQuiet(): boolean {
    const inFlight = this.runners().map(
      (runner) => runner.claims.inFlight + runner.attempts.size + runner.settlements.unsettled,
    );
    return this.waited || inFlight.reduce((sum, count) => sum + count, 0) === this.waiting.length;
  }

  /** Lets the worker claim again after the visibility timeout. @param leastMs the least time until then */
  private limit(runner: QueueRunner, leastMs: number): void {
    this.clock?.clear(this.timer);
    this.clock = runner.clock;
    this.timer = runner.clock.setTimeout(
      () => {
        this.current = undefined;
        this.waited = true;
        this.endedAtMs = undefined;
        this.changed();
      },
      Math.max(leastMs, runner.queue.options.visibilityMs),
    );
    this.timer.unref();
  }

  private rest(): void {
    this.clock?.clear(this.timer);
    this.timer = undefined;
    this.waited = false;
    this.isFirst &&= this.isComing;
    this.endedAtMs = undefined;
    this.endQuiet();
  }
}
