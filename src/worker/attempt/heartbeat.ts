import { CancelNotices } from '../../queue/operate/cancel-notices.js';
import type { JobQueueLogger } from '../../queue/model/logger.js';
import { LONGEST_TIMER_MS } from '../../queue/model/bounds.js';
import type { Attempt } from './attempt.js';
import type { QueueRunner } from './queue-runner.js';
import { runSupervised } from './run-with-timeout.js';

const MOST_PER_CALL = 500;

/**
 * Lengthens the claims of all running jobs of a runner, well inside the visibility timeout, so that a job may run longer
 * than it. What the server answers reaches the handlers: a claim that is lost, a cancel that was asked for.
 */
export class Heartbeat {
  private timer: NodeJS.Timeout | undefined;
  private unsubscribe: (() => void) | undefined;
  private beating: Promise<void> | undefined;

  constructor(
    readonly runner: QueueRunner,
    readonly intervalMs: number,
    private readonly logger: JobQueueLogger,
  ) {}

  start(): void {
    const notices = CancelNotices.of(this.runner.queue.connection);
    this.unsubscribe = notices.listen(this.runner.scripts.keys.jobPrefix, (id) => this.cancel(id));
    this.timer = setInterval(() => void this.runOnce(), Math.min(this.intervalMs, LONGEST_TIMER_MS));
  }

  stop(): void {
    clearInterval(this.timer);
    this.unsubscribe?.();
  }

  /** One beat; while one is under way, that one. */
  runOnce(): Promise<void> {
    this.beating ??= this.beat().finally(() => {
      this.beating = undefined;
    });
    return this.beating;
  }

  /** Beats now, and not with a beat in flight, which may have asked before there was something to learn. */
  async runAnew(): Promise<void> {
    await this.beating;
    await this.runOnce();
  }

  /** A cancel of a claimed job was asked for in this process. */
  private cancel(id: string): void {
    this.runner.attempts.forEach((attempt) => {
      if (attempt.id === id && !attempt.isEnded) {
        attempt.cancel();
      }
    });
  }

  private async beat(): Promise<void> {
    const live = this.newestOfEachJob();
    for (let i = 0; i < live.length; i += MOST_PER_CALL) {
      await this.extend(live.slice(i, i + MOST_PER_CALL));
    }
  }

  /**
   * A job of which this worker has a newer claim was taken back meanwhile: the older claim is lost without asking. The
   * server's answer names ids, and would end both.
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

  private async extend(attempts: Attempt[]): Promise<void> {
    try {
      const { lost, cancelRequested } = await runSupervised(
        this.runner.queue,
        this.runner.scripts.extend(attempts),
        this.intervalMs,
      );
      for (const attempt of attempts) {
        if (attempt.isEnded) {
          continue; // it ended while the beat was under way: its own settlement decides
        }
        if (lost.includes(attempt.id)) {
          this.lose(attempt);
        } else if (cancelRequested.includes(attempt.id)) {
          attempt.cancel();
        }
      }
    } catch (error) {
      this.logger.warn(`Heartbeat of queue "${this.runner.name}" failed: ${(error as Error).message}`);
    }
  }
}
