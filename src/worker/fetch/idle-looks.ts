import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import type { Timer } from '../../queue/runtime/clock.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import type { Place } from '../../queue/store/verbs/queues-verbs.js';
import type { QueueRunner } from '../runner/queue-runner.js';

/** The interval of the looks, in ms. */
const INTERVAL_MS = 1_000;

/** The most queues of one look. More queues take turns, so that a look has at most two calls. */
const MOST_QUEUES = 1_950;

/** The places of jobs that a claim could find. */
const CLAIMABLE: readonly Place[] = ['pending', 'prioritized', 'scheduled', 'groupDepths'];

const LIMIT = { timeoutMs: 2_000 };

/** The runners of one connection that wait for jobs. */
interface WaitingRunners {
  readonly store: QueueStore;
  /** Returns the runners that wait, with a free slot. */
  idle(): readonly QueueRunner[];
  /** Called when some of them may have jobs. */
  found(): void;
}

/**
 * Looks for jobs without a marker, once a second for all idle queues together. Clients of the Redis pattern set no marker,
 * and a worker may die after it has taken one. A claim for each queue would cost far more.
 */
export class IdleLooks implements BackgroundRole {
  private timer: Timer | undefined;
  private running: Promise<void> | undefined;
  private next = 0;

  constructor(private readonly waiting: WaitingRunners) {}

  start(): void {
    this.timer = this.waiting.store.clock.setInterval(() => void this.runOnce(), INTERVAL_MS);
  }

  async stop(): Promise<void> {
    this.waiting.store.clock.clear(this.timer);
    await this.running;
  }

  /** Looks at the idle queues whose turn it is. A call during a look returns that look. */
  runOnce(): Promise<void> {
    this.running ??= this.look().finally(() => (this.running = undefined));
    return this.running;
  }

  private async look(): Promise<void> {
    const { store } = this.waiting;
    const idle = this.waiting.idle();
    if (idle.length === 0 || !store.isReady) {
      return;
    }
    this.next = this.next < idle.length ? this.next : 0;
    const looked = idle.slice(this.next, this.next + MOST_QUEUES);
    this.next += MOST_QUEUES;
    const looks = await store.queues.look(
      looked.map(({ calls }) => calls),
      CLAIMABLE,
      LIMIT,
    );
    // After an error the claims find out.
    const found = looked.filter((_, i) => {
      const look = looks[i]!;
      return !look.ok || look.reply.found.size > 0;
    });
    found.forEach(({ outlook }) => outlook.expectJobs());
    if (found.length > 0) {
      this.waiting.found();
    }
  }
}
