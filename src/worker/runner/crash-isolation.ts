import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { Attempt } from '../attempt/attempt.js';
import type { QueueRunner } from './queue-runner.js';

interface Isolated {
  runner: QueueRunner;
  attempt: Attempt;
  askedAtMs: number;
}

/**
 * Runs isolated jobs one at a time and alone in this worker. An isolated job has crashed a worker, and one more crash
 * would make it a dead letter. The worker claims nothing more, the running jobs end and are settled, then the job
 * starts. So a job that kills its worker takes no other with it. Neither the wait nor the run stops the worker for
 * longer than the visibility timeout. Then it claims again beside the job.
 */
export class CrashIsolation {
  private readonly waiting: Isolated[] = [];
  private current: Isolated | undefined;
  /** True if running jobs or unanswered claims took too long, so that the worker no longer waits for them. */
  private waited = false;
  private timer: Timer | undefined;
  private clock: Clock | undefined;

  constructor(
    private readonly runners: () => readonly QueueRunner[],
    private readonly changed: () => void,
  ) {}

  /** Returns whether the worker must claim nothing more. */
  get isActive(): boolean {
    return this.waiting.length > 0 || this.current !== undefined;
  }

  /** @param askedAtMs when its claim was requested, which is before Redis made it */
  isolate(runner: QueueRunner, attempt: Attempt, askedAtMs: number): void {
    this.waiting.push({ runner, attempt, askedAtMs });
    if (!this.timer) {
      this.limit(runner);
    }
  }

  /** Starts the next job if it is time. Called in each tick in which a job started or ended here. */
  check(): void {
    if (this.current && !this.current.runner.attempts.has(this.current.attempt)) {
      this.current = undefined;
    }
    if (this.current) {
      return;
    }
    const next = this.waiting.find(({ runner }) => !runner.isClosed);
    if (this.waiting.length === 0) {
      this.rest();
    } else if (next && this.isQuiet) {
      this.waiting.splice(this.waiting.indexOf(next), 1);
      this.current = next;
      this.limit(next.runner);
      next.runner.begin(next.attempt, next.runner.clock.monotonic() - next.askedAtMs);
    }
  }

  /** Releases the isolated jobs of a closed runner that have not started. */
  releaseOf(runner: QueueRunner): void {
    for (const each of this.waiting.filter((isolated) => isolated.runner === runner)) {
      this.waiting.splice(this.waiting.indexOf(each), 1);
      runner.release(each.attempt);
    }
  }

  /** A claim in flight may bring jobs that start at once, so it is waited for like a running job. */
  private get isQuiet(): boolean {
    const inFlight = this.runners().map(
      (runner) => runner.claiming + runner.attempts.size + runner.settlements.unsettled,
    );
    return this.waited || inFlight.reduce((sum, count) => sum + count, 0) === this.waiting.length;
  }

  private limit(runner: QueueRunner): void {
    this.clock?.clear(this.timer);
    this.clock = runner.clock;
    this.timer = runner.clock.setTimeout(() => {
      this.current = undefined;
      this.waited = true;
      this.changed();
    }, runner.queue.options.visibilityMs);
    this.timer.unref();
  }

  private rest(): void {
    this.clock?.clear(this.timer);
    this.timer = undefined;
    this.waited = false;
  }
}
