import { CancelNotices } from '../../queue/operate/canceller.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import { limitOf, LONGEST_TIMER_MS } from '../../queue/runtime/bounds.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { StoreCall } from '../../queue/store/store-call.js';
import type { Attempt } from '../attempt/attempt.js';
import { FaultLog } from '../reports/failure-log.js';
import type { ClaimInFlight } from './claims.js';
import type { QueueRunner } from './queue-runner.js';

const MOST_PER_CALL = 500;

/** The things that a beat extends. Each has its own faults in the log. */
const CLAIMS = 'claims';
const PERMITS = 'permits';

/** Returns the time between two heartbeats of a claim: two may fail before it expires. */
export function heartbeatIntervalMs({ visibilityMs }: { readonly visibilityMs: number }): number {
  return visibilityMs / 3;
}

/** The most beats without a reply at a time. */
const MOST_BEATS = 20;

/**
 * Extends the claims of a runner's jobs before the visibility timeout, so that a job may run longer than that. Passes
 * the replies to the handlers: lost claims and cancel requests.
 */
export class Heartbeat implements BackgroundRole {
  private endBeats: (() => void) | undefined;
  private unsubscribe: (() => void) | undefined;
  private beats = 0;
  private readonly faults: FaultLog;

  constructor(
    readonly runner: QueueRunner,
    readonly intervalMs: number,
    logger: JobQueueLogger,
    private readonly intervals: SharedIntervals,
  ) {
    this.faults = new FaultLog(logger);
  }

  start(): void {
    const { queue, calls } = this.runner;
    this.unsubscribe = CancelNotices.of(queue.store).listen(calls.key, (id) => this.cancel(id));
    this.endBeats = this.intervals.every(Math.min(this.intervalMs, LONGEST_TIMER_MS), () => void this.runOnce());
  }

  stop(): void {
    this.endBeats?.();
    this.unsubscribe?.();
  }

  /** Beats once more, without waiting for a beat in flight. On a slow link its reply may be behind a large payload. */
  async runOnce(): Promise<void> {
    if (this.beats < MOST_BEATS && this.hasClaims) {
      this.beats++;
      await this.beat().finally(() => this.beats--);
    }
  }

  /** True with a claim that the worker has, or may have without knowing it. A process may have thousands of idle queues. */
  private get hasClaims(): boolean {
    const { attempts, claims, settlements } = this.runner;
    return attempts.size > 0 || claims.inFlight > 0 || settlements.unsettled > 0;
  }

  /** Called when this process cancels a claimed job. */
  private cancel(id: string): void {
    for (const attempt of this.runner.attempts) {
      if (attempt.id === id && !attempt.isEnded) {
        attempt.cancel();
      }
    }
  }

  private async beat(): Promise<void> {
    const claims = [...this.newestOfEachJob(), ...this.unacknowledged()];
    const late = this.runner.claims.askedBy(this.runner.clock.monotonic() - this.intervalMs);
    const extended = late.map((claim) => this.extendBatch(claim));
    for (let i = 0; i < claims.length; i += MOST_PER_CALL) {
      extended.push(this.extend(claims.slice(i, i + MOST_PER_CALL)));
    }
    const { permits, keys } = this.runner;
    const extensions = [...(permits?.extensions() ?? []), ...(keys?.extensions() ?? [])];
    extended.push(...extensions.map((call) => this.extendPermits(call)));
    await Promise.all(extended);
  }

  /**
   * Returns ended attempts whose settlement is not acknowledged. An attempt of a job that runs here again is left out,
   * because its claim is over.
   */
  private unacknowledged(): Attempt[] {
    const running = new Set([...this.runner.attempts].map(({ id }) => id));
    return this.runner.settlements.unacknowledged.filter(({ id }) => !running.has(id));
  }

  /**
   * Returns the newest attempt of each job. A job with a newer claim of this worker was reclaimed in between. So its
   * older claim is lost without asking. The server's reply names ids, and would end both.
   */
  private newestOfEachJob(): Attempt[] {
    const newest = new Map<string, Attempt>();
    for (const attempt of this.runner.attempts) {
      const other = newest.get(attempt.id);
      const [newer, older] = other && other.fence > attempt.fence ? [other, attempt] : [attempt, other];
      if (older && !older.isEnded) {
        this.lose(older);
      }
      newest.set(newer.id, newer);
    }
    return [...newest.values()].filter((attempt) => !attempt.isEnded);
  }

  private lose(attempt: Attempt): void {
    attempt.lose();
    this.runner.reportLost(attempt);
  }

  private async extendBatch(claim: ClaimInFlight): Promise<void> {
    try {
      const { queue, calls } = this.runner;
      await queue.store.exec(calls.extendBatch(claim), limitOf(this.intervalMs));
    } catch (error) {
      this.warn(error);
    }
  }

  private async extendPermits(call: StoreCall<void>): Promise<void> {
    try {
      await this.runner.queue.store.exec(call, limitOf(this.intervalMs));
      this.faults.succeeded(PERMITS);
    } catch (error) {
      this.warn(error, PERMITS);
    }
  }

  private warn(error: unknown, what = CLAIMS): void {
    this.faults.failed(what, `Could not extend the ${what} of queue "${this.runner.name}"; trying again`, error);
  }

  /** Cancels attempts, each with the newer job that asked for it. Without a reply the reason names none. */
  private async cancelAll(attempts: readonly Attempt[]): Promise<void> {
    const { queue, calls } = this.runner;
    const call = calls.supersededBy(attempts.map(({ id }) => id));
    const newer = await queue.store.exec(call, limitOf(this.intervalMs)).catch((): string[] => []);
    attempts.forEach((attempt, i) => {
      if (!attempt.isEnded) {
        attempt.cancel(newer[i] || undefined);
      }
    });
  }

  private async extend(attempts: Attempt[]): Promise<void> {
    try {
      const { lost, cancelRequested } = await this.runner.queue.store.exec(
        this.runner.calls.extend(attempts),
        limitOf(this.intervalMs),
      );
      this.faults.succeeded(CLAIMS);
      const cancelled: Attempt[] = [];
      for (const attempt of attempts) {
        if (attempt.isEnded) {
          continue; // it ended while the beat was in flight: its own settlement decides
        }
        if (lost.includes(attempt.id)) {
          this.lose(attempt);
        } else if (cancelRequested.includes(attempt.id)) {
          cancelled.push(attempt);
        }
      }
      await (cancelled.length > 0 && this.cancelAll(cancelled));
    } catch (error) {
      this.warn(error);
    }
  }
}

/** Tasks that run together, and the timer that runs them. */
interface SharedInterval {
  readonly timer: Timer;
  readonly tasks: Set<() => void>;
}

/** Intervals of many tasks: those of the same length share a timer. Each timer would wake an idle process by itself. */
export class SharedIntervals {
  private readonly intervals = new Map<number, SharedInterval>();

  constructor(private readonly clock: Clock) {}

  /** Runs a task at each interval of this length, until the returned function is called. */
  every(ms: number, task: () => void): () => void {
    const { timer, tasks } = this.intervals.get(ms) ?? this.begin(ms);
    tasks.add(task);
    return () => {
      tasks.delete(task);
      if (tasks.size === 0) {
        this.clock.clear(timer);
        this.intervals.delete(ms);
      }
    };
  }

  private begin(ms: number): SharedInterval {
    const tasks = new Set<() => void>();
    const timer = this.clock.setInterval(() => [...tasks].forEach((task) => task()), ms);
    const interval = { timer, tasks };
    this.intervals.set(ms, interval);
    return interval;
  }
}
