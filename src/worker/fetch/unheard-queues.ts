import type { Clock } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import type { IdleWait } from './idle-wait.js';

/** The time without being heard after which a queue gets a wait, in ms. A failover or a moved slot takes less. */
const LONGEST_UNHEARD_MS = 10_000;

/** The fewest claims that were not heard in that time. */
const FEWEST_MISSES = 3;

/** The most queues with a wait. Each has a connection to all masters, and hundreds would drown in reconnects. */
const MOST_WAITS = 64;

/** The claims of a queue that were not heard, one after another. */
interface Misses {
  readonly sinceMs: number;
  count: number;
  /** The reply that was counted last. */
  reply?: number;
}

interface UnheardQueuesOptions {
  readonly clock: Clock;
  readonly logger: JobQueueLogger;
  readonly openWait: (runner: QueueRunner) => IdleWait;
}

/**
 * The queues whose wakes do not reach the worker, although the server may have confirmed its channels. A proxy or a
 * half-dead master does that. The claims find out, because they ask the server on which they run. Such a queue gets a
 * wait of its own until it is heard again. With many of them the looks must do.
 */
export class UnheardQueues {
  private readonly misses = new Map<QueueRunner, Misses>();
  private readonly givenUp = new Map<QueueRunner, IdleWait | undefined>();
  private readonly ending = new Set<Promise<void>>();
  private stopped = false;

  constructor(private readonly options: UnheardQueuesOptions) {}

  /** The queues that were not heard for long. */
  get names(): string[] {
    return [...this.givenUp.keys()].map(({ name }) => name);
  }

  /** The queues whose last claim was not heard. They are to be subscribed again. */
  get missing(): QueueRunner[] {
    return [...this.misses.keys()];
  }

  /** Evaluates the last claim of a queue. Once it is stopped, no wait may open that nobody ends. */
  check(runner: QueueRunner): void {
    if (this.stopped) {
      return;
    }
    const { isUnheard, replies } = runner.outlook;
    if (!isUnheard) {
      this.heard(runner);
      return;
    }
    const now = this.options.clock.monotonic();
    const misses: Misses = this.misses.get(runner) ?? { sinceMs: now, count: 0 };
    this.misses.set(runner, misses);
    if (misses.reply !== replies) {
      misses.reply = replies;
      misses.count++;
    }
    if (misses.count >= FEWEST_MISSES && now - misses.sinceMs >= LONGEST_UNHEARD_MS) {
      this.giveUp(runner);
    }
    this.givenUp.get(runner)?.check();
  }

  interrupt(): void {
    this.givenUp.forEach((wait) => wait?.interrupt());
  }

  async stop(): Promise<void> {
    this.stopped = true;
    [...this.givenUp.keys()].forEach((runner) => this.end(runner));
    await Promise.all(this.ending);
  }

  abandon(): void {
    this.stopped = true;
    this.givenUp.forEach((wait) => wait?.abandon());
  }

  private giveUp(runner: QueueRunner): void {
    if (this.givenUp.has(runner)) {
      return;
    }
    if (this.givenUp.size === 0) {
      this.options.logger.warn(
        `Redis counts no subscriber of the wake channel of queue "${runner.name}", so its scripts cannot wake this ` +
          `worker. It waits with a connection for each such queue, for at most ${MOST_WAITS} of them, and looks once a ` +
          'second for the jobs of others. Look for a proxy that swallows SSUBSCRIBE.',
      );
    }
    const wait = this.givenUp.size < MOST_WAITS ? this.options.openWait(runner) : undefined;
    this.givenUp.set(runner, wait);
    wait?.start();
  }

  private heard(runner: QueueRunner): void {
    this.misses.delete(runner);
    if (this.givenUp.has(runner)) {
      this.end(runner);
      if (this.givenUp.size === 0) {
        this.options.logger.log('The scripts of Redis wake this worker again in all its queues.');
      }
    }
  }

  private end(runner: QueueRunner): void {
    const wait = this.givenUp.get(runner);
    this.givenUp.delete(runner);
    if (wait) {
      const ended = wait.stop().finally(() => wait.abandon());
      this.ending.add(ended);
      void ended.finally(() => this.ending.delete(ended));
    }
  }
}
