import type { ClaimAnswer } from '../../queue/store/decode-job.js';
import { randomId } from '../../queue/model/random-id.js';
import type { JobQueueLogger } from '../../queue/model/logger.js';
import type { RedisClient } from '../../queue/redis/redis-client.js';
import { ScriptRunner, type Settled } from '../../queue/redis/script-runner.js';
import type { Lane } from '../attempt/queue-runner.js';
import { isPassing, Transport } from './retrying-transport.js';

/** The longest wait, in ms: a producer that follows the Redis pattern sets no marker, so the worker looks for itself. */
const LONGEST_WAIT_MS = 1_000;
const SHORTEST_WAIT_MS = 5;

/** A wait is no longer than this part of a visibility timeout: what it brings counts as claimed when it began. */
const WAIT_SHARE = 0.25;

/** How long the answer to a wait may take beyond the wait, in ms. The connection is ours alone, so it is cut soon. */
const LONGEST_WAIT_TRIP_MS = 2_000;

/** The pause after a wait that the server ended by an error which passes, such as in a failover, in ms. */
const PAUSE_MS = 50;

/** With more lanes than this, or with a limit for the whole process, a wake-up only says where to look. */
const MOST_CLAIMED_AT_ONCE = 4;

/**
 * Waits on the blocking connection for all lanes that have free slots and nothing to fill them. Behind the blocking
 * command travel the claims themselves, so that a job that arrives starts after one step, not after a wake-up and
 * another round trip. When a lane gains a slot, the wait is ended by a marker on a key of its own, and begun anew.
 */
export class IdleWait {
  private stopped = false;
  private turn = 0;
  private waiting = false;
  private nudged = false;
  private rearm: (() => void) | undefined;
  private wakeUp: (() => void) | undefined;
  private refusalSaid = false;
  private readonly blocking: Transport;
  private readonly done: Promise<void>;

  constructor(
    private readonly worker: string,
    private readonly lanes: readonly Lane[],
    private readonly capacity: () => number,
    private readonly claimsAlong: boolean,
    /** A connection of its own. */
    private readonly own: RedisClient,
    private readonly commands: RedisClient,
    private readonly onWake: () => void,
    private readonly logger: JobQueueLogger,
  ) {
    this.blocking = new Transport(own, new ScriptRunner(own), logger, LONGEST_WAIT_TRIP_MS);
    this.done = this.run();
  }

  /** A lane may have become idle, or may have gained a slot: makes sure that it is waited for. */
  check(): void {
    if (!this.lanes.some((lane) => isIdle(lane) && !lane.covered) || this.capacity() <= 0) {
      return;
    }
    if (this.waiting) {
      this.nudge();
    } else {
      this.rearm?.();
    }
  }

  /** A lane was closed: ends the wait at once, since what it brings for that lane would only be given back. */
  interrupt(): void {
    if (this.waiting) {
      this.nudge();
    }
  }

  /** Ends the wait; jobs that it still brings go to their lanes, which give them back. */
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

  private get nudgeKey(): string {
    return this.lanes[0]!.scripts.keys.nudge(this.worker);
  }

  private nudge(): void {
    if (!this.nudged) {
      this.nudged = true;
      const told = [this.commands.zadd(this.nudgeKey, 0, '1'), this.commands.pexpire(this.nudgeKey, 10_000)];
      Promise.all(told).catch(() => undefined); // the wait ends by itself within a second
    }
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      const lanes = this.capacity() > 0 ? this.lanes.filter(isIdle) : [];
      if (lanes.length === 0) {
        await new Promise<void>((resolve) => (this.rearm = resolve));
        this.rearm = undefined;
      } else {
        await this.waitFor(lanes);
      }
    }
  }

  private async waitFor(lanes: Lane[]): Promise<void> {
    const claimsAlong = this.claimsAlong && lanes.length <= MOST_CLAIMED_AT_ONCE;
    const claims = claimsAlong ? lanes.map((lane) => this.claim(lane)) : [];
    const longestMs = Math.min(
      LONGEST_WAIT_MS,
      ...lanes.map(({ queue }) => WAIT_SHARE * queue.options.visibilityMs),
    );
    const dueInMs = Math.min(longestMs, ...lanes.map((lane) => lane.nextDueInMs ?? Infinity));
    let refusal: Error | undefined;
    const wait = {
      keys: this.wakeKeys(lanes),
      seconds: Math.max(SHORTEST_WAIT_MS, dueInMs) / 1_000,
      onRefusal: (error: Error) => {
        refusal = error;
      },
    };
    lanes.forEach((lane) => (lane.covered = true));
    this.waiting = true;
    const outcomes = await this.blocking.carry(
      claims.map(({ call }) => call),
      wait,
    );
    this.waiting = false;
    this.nudged = false;
    lanes.forEach((lane) => (lane.covered = false));
    claims.forEach((claim, i) => claim.done(outcomes[i]!));
    if (!claimsAlong) {
      lanes.forEach((lane) => (lane.hungry = true));
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

  /** Each wait begins with another queue, since the server serves the first key that has a marker. */
  private wakeKeys(lanes: Lane[]): string[] {
    this.turn = (this.turn + 1) % lanes.length;
    const turned = [...lanes.slice(this.turn), ...lanes.slice(0, this.turn)];
    return [this.nudgeKey, ...turned.map((lane) => lane.scripts.keys.wake)];
  }

  private claim(lane: Lane) {
    const count = Math.min(lane.freeForWait, 500);
    const { policies, slots } = lane;
    const askedAtMs = performance.now();
    lane.claiming += count;
    const request = { count, token: randomId(), worker: this.worker, stream: 'wait', policies, slots };
    const done = (outcome: Settled<ClaimAnswer>) => {
      if (outcome.ok) {
        lane.take(outcome.answer, count, askedAtMs);
      } else {
        lane.giveUpClaim(count);
        lane.rest(LONGEST_WAIT_MS);
      }
    };
    return { call: lane.scripts.claim(request), done };
  }
}

function isIdle(lane: Lane): boolean {
  return !lane.hungry && lane.freeForWait > 0;
}
