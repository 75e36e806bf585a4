import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueStore, WakeSubscription } from '../../queue/store/queue-store.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import { RedisUnsuitableError } from '../../queue/errors/errors.js';
import { RedisPermissionError } from '../../queue/errors/redis-errors.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import { groupBy } from '../../queue/runtime/collections.js';
import { IdleLooks } from './idle-looks.js';
import { isIdle, type IdleWait, type IdleWaitListener } from './idle-wait.js';
import { passWake } from './pass-wake.js';
import { UnheardQueues } from './unheard-queues.js';

/** The interval in which each waiter registers again, in ms. Scripts forget a waiter after two and a half of these. */
const REGISTER_MS = 60_000;

/** The interval in which some of the waiters do, in ms. So a worker without jobs asks Redis now and then. */
const TURN_MS = 5_000;

/** The shortest time until a look for a due job, in ms. */
const SHORTEST_WAIT_MS = 5;

/** The time after which a due job is claimed, in ms. */
const LATEST_MS = 2;

/** The pause after a passing error of the store, in ms. */
const PAUSE_MS = 1_000;

const PASS_LIMIT = { timeoutMs: 2_000 };

interface DirectedWaitOptions {
  readonly worker: string;
  readonly runners: readonly QueueRunner[];
  /** Returns how many more jobs the process may claim. */
  readonly capacity: () => number;
  /** Returns whether jobs use all slots of the process. Claims in flight do not count. */
  readonly hasNoSlot: () => boolean;
  readonly store: QueueStore;
  readonly logger: JobQueueLogger;
  /** Returns a wait for a runner, for a server that cannot wake it. */
  readonly openWait: (runner: QueueRunner) => IdleWait;
}

/** The timer for the next due job of a runner, and the reply that it is from. */
interface DueTimer {
  readonly reply: number;
  readonly timer: Timer;
}

/**
 * Waits for the jobs of many queues in a Cluster, without a blocking connection for each. A claim that finds too little
 * registers the worker as a waiter. The script that makes a job claimable wakes one waiter, over the process's
 * connection to that master. docs/internals/hub.md has the states.
 */
export class DirectedWait implements BackgroundRole {
  private readonly clock: Clock;
  /** The looks at the queues of each master, so that a frozen one delays no other. */
  private readonly looks: readonly IdleLooks[];
  private readonly byCalls: ReadonlyMap<StoreCalls, QueueRunner>;
  private readonly due = new Map<QueueRunner, DueTimer>();
  /** The runners whose claims were answered since the last check. A process may have thousands of others. */
  private readonly answered = new Set<QueueRunner>();
  /** The runners that were woken, until a claim is sent or the wake is passed on. */
  private readonly woken = new Set<QueueRunner>();
  private readonly passing = new Set<Promise<unknown>>();
  private subscription: WakeSubscription | undefined;
  private readonly unheardQueues: UnheardQueues;
  /** Set where the server cannot wake. */
  private waits: IdleWait[] | undefined;
  private turns: Timer | undefined;
  private nextTurn = 0;
  private stopped = false;

  constructor(
    private readonly options: DirectedWaitOptions,
    private readonly listener: IdleWaitListener,
  ) {
    const { store, runners, logger, openWait } = options;
    this.unheardQueues = new UnheardQueues({ clock: store.clock, logger, openWait });
    this.clock = store.clock;
    this.byCalls = new Map(runners.map((runner) => [runner.calls, runner]));
    runners.forEach((runner) => runner.outlook.onReply(() => this.answered.add(runner)));
    const ofMasters = groupBy(runners, ({ calls }) => store.serverOf(calls));
    this.looks = [...ofMasters.values()].map(
      (own) => new IdleLooks({ store, runners: own, isIdle, found: () => listener.onWake() }),
    );
  }

  start(): void {
    this.looks.forEach((looks) => looks.start());
    this.turns = this.clock.setInterval(() => void this.runOnce(), TURN_MS);
    void this.open();
  }

  /** The queues whose wakes do not reach this worker, although the server confirmed its channels. */
  get unheard(): string[] {
    return this.unheardQueues.names;
  }

  /**
   * Lets the waiters whose turn it is register again. A registration that was lost with a server is replaced so. Queues
   * that are not heard are subscribed again, and claim to find out whether they are.
   */
  async runOnce(): Promise<void> {
    const { runners } = this.options;
    const count = Math.ceil((runners.length * TURN_MS) / REGISTER_MS);
    const turn = Array.from({ length: count }, (_, i) => runners[(this.nextTurn + i) % runners.length]!);
    this.nextTurn = (this.nextTurn + count) % runners.length;
    const { missing } = this.unheardQueues;
    missing.forEach(({ calls }) => this.subscription?.renew(calls));
    [...turn, ...missing].forEach(({ outlook }) => outlook.expectJobs());
    this.listener.onDue();
  }

  /** Looks at the runners after each round trip: passes on wakes that no claim follows, and waits for due jobs. */
  check(): void {
    if (this.waits) {
      return this.waits.forEach((wait) => wait.check());
    }
    for (const runner of this.woken) {
      if (!runner.outlook.isWoken) {
        this.woken.delete(runner);
      } else if (runner.claims.slots === 0 && (this.options.capacity() > 0 || this.options.hasNoSlot())) {
        this.pass(runner); // else claims of other queues hold the slots until their replies
      }
    }
    for (const runner of new Set([...this.answered, ...this.unheardQueues.missing])) {
      this.unheardQueues.check(runner);
      this.waitForDue(runner);
    }
    this.answered.clear();
  }

  interrupt(): void {
    this.waits?.forEach((wait) => wait.interrupt());
    this.unheardQueues.interrupt();
  }

  /** Stops waiting. Wakes that may be on their way are passed on, and no entry of this worker stays. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.clock.clear(this.turns);
    this.due.forEach(({ timer }) => this.clock.clear(timer));
    await Promise.all([
      ...this.looks.map((looks) => looks.stop()),
      ...(this.waits ?? []).map((wait) => wait.stop()),
      this.unheardQueues.stop(),
    ]);
    if (this.subscription) {
      this.options.runners.forEach((runner) => this.pass(runner));
      await Promise.all(this.passing);
    }
    this.abandon();
  }

  abandon(): void {
    this.stopped = true;
    this.subscription?.leave();
    this.subscription = undefined;
    this.waits?.forEach((wait) => wait.abandon());
    this.unheardQueues.abandon();
  }

  private async open(): Promise<void> {
    const { worker, runners, store } = this.options;
    const calls = runners.map((runner) => runner.calls);
    try {
      const subscription = await store.listenForWakes(worker, calls, {
        confirmed: (queue) => this.confirmed(queue),
        woken: (queue) => this.wake(queue),
        cancelled: (queue) => this.runnerOf(queue, (runner) => this.listener.onCancel(runner)),
        refused: (error) => this.fallBack(error),
      });
      if (!subscription) {
        this.fallBack();
      } else if (this.stopped || this.waits) {
        subscription.leave();
      } else {
        this.subscription = subscription;
      }
    } catch (error) {
      if (!store.passes(error)) {
        this.fallBack(error as Error);
      } else if (!this.stopped) {
        this.clock.setTimeout(() => void this.open(), PAUSE_MS).unref();
      }
    }
  }

  /**
   * Claims, because a job or a cancel may have come before the subscription. This took no wake from another worker, so
   * none is passed on.
   */
  private confirmed(queue: StoreCalls): void {
    this.runnerOf(queue, (runner) => {
      this.claimSoon(runner);
      if (runner.attempts.size > 0) {
        this.listener.onCancel(runner);
      }
    });
  }

  private wake(queue: StoreCalls): void {
    this.runnerOf(queue, (runner) => {
      this.woken.add(runner);
      this.claimSoon(runner);
    });
  }

  private claimSoon({ outlook }: QueueRunner): void {
    outlook.wake();
    this.listener.onWake();
  }

  private runnerOf(queue: StoreCalls, use: (runner: QueueRunner) => unknown): void {
    const runner = this.byCalls.get(queue);
    if (runner) {
      use(runner);
    }
  }

  /** Wakes another worker, because this one has no free slot. It claims by itself when it has one again. */
  private pass(runner: QueueRunner): void {
    this.woken.delete(runner);
    const passed = this.passed(runner);
    this.passing.add(passed);
    void passed.then(() => this.passing.delete(passed));
  }

  private async passed(runner: QueueRunner): Promise<void> {
    await passWake(this.options, runner, PASS_LIMIT);
    if (!this.stopped && !runner.outlook.isWoken) {
      // A claim was sent meanwhile. The pass may have taken away the waiter that this claim made.
      this.claimSoon(runner);
    }
  }

  private waitForDue(runner: QueueRunner): void {
    const { nextDueInMs, replies } = runner.outlook;
    const known = this.due.get(runner);
    if (this.stopped || known?.reply === replies || (!known && nextDueInMs === undefined)) {
      return;
    }
    this.clock.clear(known?.timer);
    this.due.delete(runner);
    if (nextDueInMs !== undefined && nextDueInMs < REGISTER_MS) {
      const waitMs = Math.max(SHORTEST_WAIT_MS, nextDueInMs) + LATEST_MS;
      const timer = this.clock.setTimeout(() => {
        runner.outlook.expectJobs();
        this.listener.onDue();
      }, waitMs);
      timer.unref();
      this.due.set(runner, { reply: replies, timer });
    }
  }

  /** Waits with a blocking connection for each queue, as versions without a hub do. */
  private fallBack(error?: Error): void {
    if (this.waits || this.stopped) {
      return;
    }
    if (error) {
      const message = error.message.replace(/\.$/, '');
      const remedy =
        error instanceof RedisUnsuitableError && !(error instanceof RedisPermissionError)
          ? 'These connections are all that is given up.'
          : 'Grant +ssubscribe, +sunsubscribe, +spublish and +pubsub|shardnumsub.';
      this.options.logger.warn(
        `Redis cannot wake this worker over a channel: ${message}. Opening a connection for each queue instead. ${remedy}`,
      );
    }
    this.subscription?.leave();
    this.subscription = undefined;
    this.clock.clear(this.turns);
    void this.unheardQueues.stop();
    if (!Number.isFinite(this.options.capacity())) {
      // Else busy queues may leave no slot for a wait.
      this.looks.forEach((looks) => void looks.stop());
    }
    this.waits = this.options.runners.map(this.options.openWait);
    this.waits.forEach((wait) => wait.start());
    this.waits.forEach((wait) => wait.check());
  }
}
