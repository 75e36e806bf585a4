import type { ClaimAnswer } from '../../queue/store/decode-job.js';
import type { JobQueueLogger } from '../../queue/model/logger.js';
import type { RedisClient } from '../../queue/redis/redis-client.js';
import { ScriptRunner, type Settled } from '../../queue/redis/script-runner.js';
import type { QueueRunner } from '../attempt/queue-runner.js';
import { claimFor } from './claim-call.js';
import { isPassing, RetryingTransport } from './retrying-transport.js';

/** The longest wait, in ms: a producer that follows the Redis pattern sets no marker, so the worker looks for itself. */
const LONGEST_WAIT_MS = 1_000;
const SHORTEST_WAIT_MS = 5;

/** A wait is no longer than this part of a visibility timeout: what it brings counts as claimed when it began. */
const WAIT_SHARE = 0.25;

/** How long the answer to a wait may take beyond the wait, in ms. The connection is ours alone, so it is cut soon. */
const LONGEST_WAIT_TRIP_MS = 2_000;

/** The pause after a wait that the server ended by an error which passes, such as in a failover, in ms. */
const PAUSE_MS = 50;

/** How long no runner is waited for, in ms, before the worker listens for cancels of the jobs that fill its slots. */
const LISTEN_AFTER_MS = 250;

/** What `lua/job/cancel.lua` adds to the key of the worker. */
const CANCEL_MARKER = 'cancel';

/** With more runners than this, or with a limit for the whole process, a wake-up only says where to look. */
const MOST_CLAIMED_AT_ONCE = 4;

/**
 * Waits on the blocking connection for all runners that have free slots and nothing to fill them. Behind the blocking
 * command travel the claims themselves, so that a job that arrives starts after one step, not after a wake-up and
 * another round trip. When a runner gains a slot, the wait is ended by a marker on a key of its own, and begun anew. A cancel
 * of a running job comes as a marker on the same key, which is listened to while all slots are busy too.
 */
export class IdleWait {
  private stopped = false;
  private turn = 0;
  private waiting = false;
  private nudged = false;
  private rearm: (() => void) | undefined;
  private wakeUp: (() => void) | undefined;
  private refusalSaid = false;
  private readonly blocking: RetryingTransport;
  private readonly done: Promise<void>;

  constructor(
    private readonly worker: string,
    private readonly runners: readonly QueueRunner[],
    private readonly capacity: () => number,
    private readonly claimsAlong: boolean,
    /** A connection of its own. */
    private readonly own: RedisClient,
    private readonly commands: RedisClient,
    private readonly onWake: () => void,
    /** A cancel was asked for of a job that this worker has claimed. */
    private readonly onCancel: (runner: QueueRunner) => void,
    private readonly logger: JobQueueLogger,
  ) {
    this.blocking = new RetryingTransport(own, new ScriptRunner(own), logger, LONGEST_WAIT_TRIP_MS);
    this.done = this.run();
  }

  /** A runner may have become idle, or may have gained a slot: makes sure that it is waited for. */
  check(): void {
    if (!this.runners.some((runner) => isIdle(runner) && !runner.covered) || this.capacity() <= 0) {
      return;
    }
    if (this.waiting) {
      this.nudge();
    } else {
      this.rearm?.();
    }
  }

  /** A runner was closed: ends the wait at once, since what it brings for that runner would only be given back. */
  interrupt(): void {
    if (this.waiting) {
      this.nudge();
    }
  }

  /** Ends the wait; jobs that it still brings go to their runners, which give them back. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.interrupt();
    this.wakeUp?.();
    this.rearm?.();
    await this.done;
  }

  /** Waits for no answer any more, and closes its connection: what it asked for is not asked for again. */
  abandon(): void {
    this.blocking.giveUp();
    if (this.own.status !== 'end') {
      this.own.disconnect(); // twice, it would keep a timer for two seconds
    }
  }

  private nudgeKeyOf({ scripts }: QueueRunner): string {
    return scripts.keys.nudge(this.worker);
  }

  private nudge(): void {
    if (!this.nudged) {
      this.nudged = true;
      const key = this.nudgeKeyOf(this.runners[0]!);
      const told = [this.commands.zadd(key, 0, '1'), this.commands.pexpire(key, 10_000)];
      Promise.all(told).catch(() => undefined); // the wait ends by itself within a second
    }
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      const runners = this.idleRunners;
      if (runners.length > 0) {
        await this.waitFor(runners);
      } else if (!(await this.isRearmed()) && this.isRunningJobs) {
        await this.waitFor(this.idleRunners);
      }
    }
  }

  private get idleRunners(): QueueRunner[] {
    return this.capacity() > 0 ? this.runners.filter(isIdle) : [];
  }

  private get isRunningJobs(): boolean {
    return this.runners.some(({ attempts }) => attempts.size > 0);
  }

  /** Resolves when a runner is to be waited for, or after a moment with false: a wait costs what fills its slots quickly. */
  private async isRearmed(): Promise<boolean> {
    const rearmed = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(resolve, LISTEN_AFTER_MS, false);
      this.rearm = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
    this.rearm = undefined;
    return rearmed || this.stopped;
  }

  private async waitFor(runners: QueueRunner[]): Promise<void> {
    const claimsAlong = this.claimsAlong && runners.length <= MOST_CLAIMED_AT_ONCE;
    const claims = claimsAlong ? runners.map((runner) => this.claim(runner, runners.length)) : [];
    const longestMs = Math.min(
      LONGEST_WAIT_MS,
      ...runners.map(({ queue }) => WAIT_SHARE * queue.options.visibilityMs),
    );
    const dueInMs = Math.min(longestMs, ...runners.map((runner) => runner.nextDueInMs ?? Infinity));
    let refusal: Error | undefined;
    const wait = {
      keys: this.wakeKeys(runners),
      seconds: Math.max(SHORTEST_WAIT_MS, dueInMs) / 1_000,
      onMarker: (key: string, member: string) => this.hear(key, member),
      onRefusal: (error: Error) => {
        refusal = error;
      },
    };
    runners.forEach((runner) => (runner.covered = true));
    this.waiting = true;
    const outcomes = await this.blocking.carry(
      claims.map(({ call }) => call),
      wait,
    );
    this.waiting = false;
    this.nudged = false;
    runners.forEach((runner) => (runner.covered = false));
    claims.forEach((claim, i) => claim.done(outcomes[i]!));
    if (!claimsAlong) {
      runners.forEach((runner) => (runner.mayHaveJobs = true));
    }
    this.onWake();
    if (refusal) {
      await this.afterRefusal(refusal);
    }
  }

  /** Waits here, where the server does not let us wait there. */
  private async afterRefusal(error: Error): Promise<void> {
    if (isPassing(error)) {
      return this.rest(PAUSE_MS);
    }
    if (!this.refusalSaid) {
      this.refusalSaid = true;
      this.logger.warn(
        `Redis refuses to let a worker wait for jobs (${error.message}): it looks once a second instead.`,
      );
    }
    return this.rest(LONGEST_WAIT_MS);
  }

  private async rest(ms: number): Promise<void> {
    if (!this.stopped) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.wakeUp = undefined;
    }
  }

  /** Asks for the runner's claims anew where the marker is that of a cancel; other markers only end the wait. */
  private hear(key: string, member: string): void {
    const runner = member === CANCEL_MARKER && this.runners.find((each) => this.nudgeKeyOf(each) === key);
    if (runner) {
      this.onCancel(runner);
    }
  }

  /**
   * The keys to wait on. A cancel marks the key of its queue, whose slot it can reach. Each wait begins with another queue,
   * since the server serves the first key that has a marker.
   */
  private wakeKeys(runners: QueueRunner[]): string[] {
    this.turn = (this.turn + 1) % Math.max(1, runners.length);
    const turned = [...runners.slice(this.turn), ...runners.slice(0, this.turn)];
    return [
      ...this.runners.map((runner) => this.nudgeKeyOf(runner)),
      ...turned.map((runner) => runner.scripts.keys.wake),
    ];
  }

  private claim(runner: QueueRunner, sharers: number) {
    const count = Math.min(runner.freeForWait, 500);
    const { call, conclude } = claimFor(runner, { worker: this.worker, stream: 'wait', count, sharers });
    const done = (outcome: Settled<ClaimAnswer>) => {
      conclude(outcome);
      if (!outcome.ok) {
        runner.rest(LONGEST_WAIT_MS);
      }
    };
    return { call, done };
  }
}

function isIdle(runner: QueueRunner): boolean {
  return !runner.mayHaveJobs && runner.freeForWait > 0;
}
