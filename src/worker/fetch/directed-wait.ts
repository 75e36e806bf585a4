import { RedisUnsuitableError } from '../../queue/errors/errors.js';
import { RedisPermissionError } from '../../queue/errors/redis-errors.js';
import type { BackgroundRole } from '../../queue/runtime/background-role.js';
import type { Clock, Timer } from '../../queue/runtime/clock.js';
import { groupBy } from '../../queue/runtime/collections.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { QueueStore, WakeSubscription } from '../../queue/store/queue-store.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { QueueRunner } from '../runner/queue-runner.js';
import { IdleLooks, isIdle, type IdleWait, type IdleWaitListener } from './idle-wait.js';
import type { WaitRoom } from './process-capacity.js';

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

interface DirectedWaitOptions extends WaitRoom {
  readonly worker: string;
  readonly runners: readonly QueueRunner[];
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
    await runner.passWake(this.options.worker, PASS_LIMIT);
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
