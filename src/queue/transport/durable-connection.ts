import type { Redis } from 'ioredis';
import type { Connection } from '../redis/connection.js';
import type { EnqueueReply } from '../store/enqueue-call.js';
import type { ReplicationOptions } from '../store/queue-store.js';
import type { RedisClient } from '../redis/redis-client.js';
import { evalArguments, type ScriptCall } from './script-runner.js';
import { isWrongType, nameWrongKeysOf } from './wrong-keys.js';
import { withHandshakeTimeout, watchSilence } from '../redis/response-timeout.js';
import { keptIn } from '../runtime/collections.js';
import { outsideOfCaller } from '../runtime/clock.js';

/** An enqueue in flight: its script, and the counters of its queue. */
interface PendingWrite {
  readonly call: ScriptCall<EnqueueReply[]>;
  readonly statsKey: string;
  readonly replication: ReplicationOptions;
  resolve(replies: EnqueueReply[]): void;
  reject(error: Error): void;
}

type CommandReply = [Error | null, unknown];

/**
 * Sends enqueues that wait for replicas, over one connection for all queues of a client. WAIT blocks its connection, and
 * counts only the writes of that connection. Enqueues during one WAIT share the next one.
 */
export class DurableConnection {
  private static readonly known = new WeakMap<Connection, DurableConnection>();
  private client: Redis | undefined;
  private waiting: PendingWrite[] = [];
  private isFlushing = false;
  private closing = false;
  private becomingReady: Promise<void> | undefined;

  static of(connection: Connection): DurableConnection {
    return keptIn(DurableConnection.known, connection, () => new DurableConnection(connection));
  }

  private constructor(private readonly connection: Connection) {}

  /** The client over which enqueues are sent; undefined before the first. */
  get sender(): Redis | undefined {
    return this.client;
  }

  /** Resolves once it is connected, so that an earlier failure counts as not sent. */
  async ready(): Promise<void> {
    await this.connection.whenReady();
    const client = this.open();
    if (client.status !== 'ready') {
      this.becomingReady ??= readinessOf(client).finally(() => (this.becomingReady = undefined));
      await this.becomingReady;
    }
  }

  /** Runs an enqueue and waits for its replicas. The reply has how many acknowledged it in time. */
  send(
    call: ScriptCall<EnqueueReply[]>,
    statsKey: string,
    replication: ReplicationOptions,
  ): Promise<EnqueueReply[]> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ call, statsKey, replication, resolve, reject });
      if (!this.isFlushing) {
        void outsideOfCaller(() => this.flushBatches()); // later callers join its loop
      }
    });
  }

  /** Closes the connection once no call is in flight. It opens again on demand. */
  closeIdle(): void {
    this.closing = true;
    if (!this.isFlushing) {
      this.close();
    }
  }

  private close(): void {
    this.closing = false;
    this.client?.disconnect();
    this.client = undefined;
  }

  private async flushBatches(): Promise<void> {
    this.isFlushing = true;
    while (this.waiting.length > 0) {
      const writes = this.nextBatch();
      try {
        await this.sendBatch(writes);
      } catch (error) {
        writes.forEach((write) => write.reject(error as Error));
      }
    }
    this.isFlushing = false;
    if (this.closing) {
      this.close();
    }
  }

  /**
   * Returns the enqueues that wait for the same replicas. On a Cluster they are of one queue, because a pipeline goes
   * to one master.
   */
  private nextBatch(): PendingWrite[] {
    const { replication, statsKey } = this.waiting[0]!;
    const cluster = this.connection.facts?.cluster ?? true;
    const fits = (other: PendingWrite) =>
      other.replication.replicas === replication.replicas &&
      other.replication.timeoutMs === replication.timeoutMs &&
      (!cluster || other.statsKey === statsKey);
    const writes = this.waiting.filter(fits);
    this.waiting = this.waiting.filter((other) => !fits(other));
    return writes;
  }

  private async sendBatch(writes: readonly PendingWrite[]): Promise<void> {
    const { replicas, timeoutMs, replyMs } = writes[0]!.replication;
    const client = this.open();
    const pipeline = client.pipeline();
    for (const { call } of writes) {
      // Sends the text, because a digest unknown to the server would leave the WAIT behind it without its write.
      const [text, keyCount, ...rest] = evalArguments(call, this.connection.isSharded);
      pipeline.eval(text!, keyCount!, ...rest);
    }
    // A write in every trip: behind a repeated enqueue, which writes nothing, WAIT would have nothing to wait for.
    const keys = writes.map(({ statsKey }) => statsKey);
    const queues = [...new Set(keys)];
    for (const key of queues) {
      pipeline.hincrby(key, 'durable_total', keys.filter((each) => each === key).length);
    }
    pipeline.wait(replicas, timeoutMs);
    const answered = pipeline.exec();
    // A frozen server never replies, so the connection is closed and its calls fail.
    const endWatch = watchSilence(client, timeoutMs + replyMs, () => client.disconnect());
    const replies = await answered.finally(endWatch);
    const counts = replies!.slice(-1 - queues.length, -1) as CommandReply[];
    const [refused, acknowledged] = replies!.at(-1) as CommandReply;
    const written = counts.some(([error]) => error === null);
    const failure = written ? refused : counts[0]![0]; // without a write, WAIT may speak of none of this trip
    const replication = failure
      ? { acknowledged: 0, failure }
      : { acknowledged: Number(acknowledged), failure: undefined };
    writes.forEach((write, i) => void settle(client, write, replies![i]!, replication));
  }

  /** Opens a connection. It replaces an ended connection, because WAIT on another connection covers no write. */
  private open(): Redis {
    if (!this.client || this.client.status === 'end') {
      this.client = this.connection.duplicate('durable', { retryStrategy: () => null }) as Redis;
    }
    return this.client;
  }
}

/** Rejects if the connection ends first. An accepted connection that stays silent is ended. */
async function readinessOf(client: Redis): Promise<void> {
  const endSupervision = withHandshakeTimeout(client);
  try {
    await new Promise<void>((resolve, reject) => {
      client.once('ready', resolve);
      client.once('end', () => reject(new Error('the connection for durable enqueues could not be opened')));
    });
  } finally {
    endSupervision();
  }
}

/** Settles one enqueue. Its error names a key of a wrong type. */
async function settle(
  client: RedisClient,
  write: PendingWrite,
  [error, value]: CommandReply,
  replication: EnqueueReply['replication'],
): Promise<void> {
  if (error) {
    write.reject(isWrongType(error) ? await nameWrongKeysOf(client, error, write.call) : error);
    return;
  }
  try {
    write.resolve(write.call.decode(value).map((reply) => ({ ...reply, replication })));
  } catch (refusal) {
    write.reject(refusal as Error); // its own error, not that of another write in the batch
  }
}
