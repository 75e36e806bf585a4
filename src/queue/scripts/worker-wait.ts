import type { Connection } from '../redis/connection.js';
import { isOfUser, isPassing } from '../redis/passing-errors.js';
import type { RedisClient } from '../redis/redis-client.js';
import { withResponseTimeout } from '../redis/response-timeout.js';
import { backgroundTimeout, systemClock } from '../runtime/clock.js';
import type { JobQueueLogger } from '../runtime/logger.js';
import { InterruptibleWait } from '../runtime/waits.js';
import type { WaitOutcome, WorkerWait, ConsumerWait } from '../store/queue-store.js';
import type { StoreCall } from '../store/store-call.js';
import type { StoreCalls } from '../store/store-calls.js';
import { RetryingTransport } from '../transport/retrying-transport.js';
import { ScriptRunner } from '../transport/script-runner.js';
import type { QueueCalls } from './all-calls.js';
import { CANCEL_MARKER } from './queue-keys.js';

/**
 * The time the reply to a wait may take beyond the wait, in ms. The connection has no other use, so it is cut early.
 */
const LONGEST_WAIT_TRIP_MS = 2_000;

const CANCEL_BYTES = Buffer.from(CANCEL_MARKER);

/** The time an unused nudge is kept, in ms. */
const NUDGE_KEPT_MS = 10_000;

/**
 * The blocking connection of a worker. The claims are sent after the blocking command, so that a job starts without
 * another round trip. A marker on the worker's own key ends the wait. A cancel of a running job uses the same key, in
 * the slot of its queue.
 */
export class RedisWorkerWait implements WorkerWait {
  private readonly keys: WaitKeys;
  private readonly own: RedisClient;
  private readonly blocking: RetryingTransport;
  /** The wait in flight. */
  private current: object | undefined;
  /** Ends a wait that a nudge did not end. */
  private overdue: NodeJS.Timeout | undefined;

  constructor(
    private readonly connection: Connection,
    worker: string,
    private readonly queues: readonly QueueCalls[],
    logger: JobQueueLogger,
  ) {
    this.keys = new WaitKeys(queues, worker);
    this.own = connection.duplicate('waiting for jobs');
    this.blocking = new RetryingTransport(
      this.own,
      new ScriptRunner(this.own, () => connection.isSharded),
      logger,
      LONGEST_WAIT_TRIP_MS,
    );
  }

  async wait<Replies extends unknown[]>(
    queues: readonly StoreCalls[],
    ms: number,
    calls: { [Index in keyof Replies]: StoreCall<Replies[Index]> },
    running: readonly StoreCalls[] = this.queues,
  ): Promise<WaitOutcome<Replies>> {
    let refusal: WaitOutcome<Replies>['refusal'];
    let told: ReturnType<WaitKeys['told']> = {};
    this.current = {};
    const outcomes = await this.blocking.carry<Replies>(calls, {
      keys: this.keys.of(queues, running),
      seconds: ms / 1_000,
      onMarker: (key, member) => {
        told = this.keys.told(queues, key.toString(), member.equals(CANCEL_BYTES));
      },
      onRefusal: (error) => (refusal = { error, passes: isPassing(error) || isOfUser(error) }),
    });
    this.current = undefined;
    clearTimeout(this.overdue);
    return { outcomes, ...told, refusal };
  }

  interrupt(): void {
    const { client } = this.connection;
    const key = this.keys.nudgeOf(this.queues[0]!);
    const { current } = this;
    const sent = [client.zadd(key, 0, '1'), client.pexpire(key, NUDGE_KEPT_MS)];
    Promise.all(sent).then(
      () => this.expectEnd(current),
      () => undefined, // the wait ends by itself
    );
  }

  /** Replaces the connection if the nudged wait does not end. It is half-open then, and the wait may be a long one. */
  private expectEnd(wait: object | undefined): void {
    const isWaiting = () => wait !== undefined && wait === this.current;
    if (isWaiting()) {
      clearTimeout(this.overdue);
      this.overdue = backgroundTimeout(
        () => isWaiting() && this.blocking.replaceConnection(),
        LONGEST_WAIT_TRIP_MS,
      );
    }
  }

  close(): void {
    clearTimeout(this.overdue);
    this.blocking.close();
    if (this.own.status !== 'end') {
      this.own.disconnect(); // twice, it would keep a timer for two seconds
    }
  }
}

/**
 * Lets a manual consumer wait for jobs: blocks on the queue's wake marker, on a separate connection. It takes no job,
 * so a cut call loses nothing. Concurrent waits share one blocking call.
 */
export class RedisConsumerWait implements ConsumerWait {
  private client: RedisClient | undefined;
  private waiting: Promise<void> | undefined;
  private readonly interruptible = new InterruptibleWait(systemClock);

  constructor(
    private readonly connection: Connection,
    private readonly wakeKey: string,
  ) {}

  /** Resolves when a marker came or after `ms`, at most a second: a foreign producer sets no marker. */
  wait(ms: number): Promise<void> {
    this.waiting ??= this.block(Math.min(1_000, Math.max(10, ms))).finally(() => {
      this.waiting = undefined;
    });
    return this.waiting;
  }

  close(): void {
    this.client?.disconnect();
    this.client = undefined;
    this.interruptible.end();
  }

  private async block(ms: number): Promise<void> {
    const client = (this.client ??= this.connection.duplicate('blocking'));
    let failure: Error | undefined;
    const onFailure = (error: Error) => void (failure = error);
    const marker = new ScriptRunner(client).wait({
      keys: [this.wakeKey],
      seconds: ms / 1_000,
      onRefusal: onFailure,
    });
    // A frozen server never replies. Then the connection is replaced, and the caller claims again.
    await withResponseTimeout(client, ms + LONGEST_WAIT_TRIP_MS, marker).catch(onFailure);
    if (failure && this.client) {
      this.connection.logger.warn(`The wait for jobs failed; trying again: ${failure.message}`);
      // A server that refuses the wait does so at once, and the caller would ask without a pause.
      await this.interruptible.wait(ms);
    }
  }
}

/** The keys of one wait of a worker, and what a marker in one of them says. */
export class WaitKeys {
  /** @param worker whose cancels end the wait too; undefined for a consumer */
  constructor(
    private readonly queues: readonly QueueCalls[],
    private readonly worker?: string,
  ) {}

  /** Returns the keys of a wait: first the keys for cancels and interrupts, then those for jobs. Redis serves them in this order. */
  of(waiting: readonly StoreCalls[], running: readonly StoreCalls[]): string[] {
    const [first] = this.queues;
    const nudging = first ? [first, ...(running as readonly QueueCalls[])] : [];
    return [...new Set(nudging.map(this.nudgeOf)), ...waiting.map(wakeOf)];
  }

  /** Returns what a marker says. */
  told(
    waiting: readonly StoreCalls[],
    key: string,
    isCancel: boolean,
  ): Pick<WaitOutcome<[]>, 'cancelIn' | 'wokenIn'> {
    return isCancel
      ? { cancelIn: this.queues.find((queue) => this.nudgeOf(queue) === key) }
      : { wokenIn: waiting.find((queue) => wakeOf(queue) === key) };
  }

  readonly nudgeOf = ({ keys }: QueueCalls): string => keys.nudge(this.worker!);
}

function wakeOf(queue: StoreCalls): string {
  return (queue as QueueCalls).keys.wake;
}
