import { RedisKeyTypeError } from '../errors/redis-errors.js';
import type { JobQueueLogger } from '../runtime/logger.js';
import { systemClock } from '../runtime/clock.js';
import { InterruptibleWait } from '../runtime/waits.js';
import {
  cut,
  isUnanswered,
  unansweredError,
  withResponseTimeout,
  withHandshakeTimeout,
} from '../redis/response-timeout.js';
import { failUnanswered } from '../redis/ioredis-internals.js';
import { isCluster, type RedisClient } from '../redis/redis-client.js';
import { ReplyDecodeError, type BlockingWait, type ScriptCall, type ScriptRunner } from './script-runner.js';
import { FilesReplacedError } from '../errors/errors.js';
import { LONGEST_TRIP_MS } from '../runtime/bounds.js';
import type { Settled, StoreTransport } from '../store/queue-store.js';
import type { StoreCall } from '../store/store-call.js';
import { isOfUser, isPassing } from '../redis/passing-errors.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** The error of calls that were not sent. */
const NOT_CONNECTED = new Error('not connected');

/**
 * Sends script calls to Redis until they are answered, through outages of any length. Every call of a worker can be
 * repeated, so an unanswered call is sent again unchanged.
 */
export class RetryingTransport implements StoreTransport {
  private closed = false;
  private wasConnected = false;
  private readonly pause = new InterruptibleWait(systemClock);
  private connecting: Promise<void> | undefined;
  private endConnecting: (() => void) | undefined;
  /** The errors that were logged while round trips rest. One error ends several round trips, and is logged once. */
  private readonly loggedErrors = new Set<string>();
  /** Ends the latest wait; there is one at a time. */
  private endWait: (() => void) | undefined;

  constructor(
    private readonly client: RedisClient,
    private readonly runner: ScriptRunner,
    private readonly logger: JobQueueLogger,
    /** The time a round trip may take beyond its wait, in ms. Given if nobody else sends commands over the client. */
    private readonly ownTripMs?: number,
  ) {}

  /**
   * Runs the calls in one round trip, in order. Resolves when each has its reply, or an error that will not pass.
   *
   * @param first a wait for a marker before the first call
   */
  async carry<Replies extends unknown[]>(
    stored: { [Index in keyof Replies]: StoreCall<Replies[Index]> },
    first?: BlockingWait,
  ): Promise<{ [Index in keyof Replies]: Settled<Replies[Index]> }> {
    type All = { [Index in keyof Replies]: Settled<Replies[Index]> };
    let open = stored as ScriptCall<unknown>[];
    let outcomes = await this.attempt(open, first);
    let pause = FIRST_PAUSE_MS;
    while (outcomes.some(mayPass) && !this.closed) {
      await this.restAfter(outcomes.find(mayPass)!.error, pause);
      if (this.closed) break; // a claim would take jobs that no worker runs
      pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
      open = open.map((call, i) => callAgain(call, outcomes[i]!));
      outcomes = await this.repeat(open, outcomes);
    }
    return outcomes as All;
  }

  /** Ends all waiting; unanswered calls stay unanswered. */
  close(): void {
    this.closed = true;
    this.pause.end();
    this.endConnecting?.();
    this.endWait?.();
  }

  private async repeat(calls: ScriptCall<unknown>[], outcomes: Settled<unknown>[]): Promise<Settled<unknown>[]> {
    const replies = await this.attempt(calls.filter((_, i) => mayPass(outcomes[i]!)));
    return outcomes.map((outcome) => (mayPass(outcome) ? replies.shift()! : outcome));
  }

  private async attempt(calls: ScriptCall<unknown>[], first?: BlockingWait): Promise<Settled<unknown>[]> {
    if (!this.isReady) {
      // Waits for the connection, because a command in the client's own queue could not be taken back.
      this.connecting ??= this.connected().finally(() => (this.connecting = undefined));
      await this.connecting;
      if (!this.isReady) {
        return allFailed(calls, NOT_CONNECTED);
      }
    }
    this.wasConnected = true;
    const limitMs = this.longestTripMs + (first ? first.seconds * 1_000 : 0);
    try {
      const trip = withResponseTimeout(this.client, limitMs, this.runner.runTogether(calls, first));
      return await (first ? this.untilGivenUp(trip) : trip);
    } catch (error) {
      if (this.ownTripMs !== undefined && isUnanswered(error)) {
        this.replaceConnection(error as Error);
      }
      return allFailed(calls, error as Error);
    }
  }

  /**
   * Replaces a connection of its own that no longer replies, and drops its commands. The client would send them again over
   * the next connection. A long wait would hold up the calls behind it for longer than they may take. A Cluster's client
   * drops them itself.
   */
  replaceConnection(
    error: Error = unansweredError('A wait did not end in time; the connection is replaced.'),
  ): void {
    if (this.isReady && !isCluster(this.client)) {
      cut(this.client);
      failUnanswered(this.client, error);
    }
  }

  private get longestTripMs(): number {
    return this.ownTripMs ?? LONGEST_TRIP_MS;
  }

  private get isReady(): boolean {
    return this.client.status === 'ready';
  }

  /**
   * Waits until `close` gives up. That closes the wait's connection. A trip over the application's own connection may
   * still get a reply, and its reply counts.
   */
  private untilGivenUp<Reply>(wait: Promise<Reply>): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.endWait = () => reject(new Error('the worker is being stopped'));
      wait.then(resolve, reject);
    });
  }

  /** Waits for the connection; a stop and the end of the client end that too. */
  private async connected(): Promise<void> {
    if (this.closed) {
      return;
    }
    if (this.client.status === 'end') {
      this.logger.error(
        'The Redis client was closed and does not reconnect, so this worker is idle. Start a worker with a connected client.',
      );
    } else if (this.wasConnected) {
      this.logger.warn('The connection to Redis is lost; the worker continues after the reconnect.');
    }
    await new Promise<void>((resolve) => {
      const endSupervision = withHandshakeTimeout(this.client, this.longestTripMs);
      const end = () => {
        endSupervision();
        this.client.off('ready', end);
        resolve();
      };
      this.client.once('ready', end);
      this.endConnecting = end;
    });
  }

  private async restAfter({ message }: Error, ms: number): Promise<void> {
    if (this.loggedErrors.has(message)) {
      await this.pause.wait(ms);
      return;
    }
    this.loggedErrors.add(message);
    this.logger.warn(
      `Redis did not answer a call of a worker (${message}); sending it again. If this repeats, check Redis and the network.`,
    );
    await this.pause.wait(ms);
    this.loggedErrors.delete(message);
  }
}

function allFailed(calls: ScriptCall<unknown>[], error: Error): Settled<unknown>[] {
  return calls.map(() => ({ ok: false, error }));
}

/** Returns the call to send for one without a reply: with less content if its connection was cut. */
function callAgain(call: ScriptCall<unknown>, outcome: Settled<unknown>): ScriptCall<unknown> {
  const wasCut = !outcome.ok && outcome.error !== NOT_CONNECTED && outcome.error.name !== 'ReplyError';
  return wasCut && mayPass(outcome) && call.afterCut ? (call.afterCut() as ScriptCall<unknown>) : call;
}

function mayPass(outcome: Settled<unknown>): outcome is { ok: false; error: Error } {
  if (
    outcome.ok ||
    [ReplyDecodeError, RedisKeyTypeError, FilesReplacedError].some((kind) => outcome.error instanceof kind)
  ) {
    return false;
  }
  return outcome.error.name !== 'ReplyError' || isPassing(outcome.error) || isOfUser(outcome.error);
}
