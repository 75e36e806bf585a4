import { Redis, type RedisOptions } from 'ioredis';
import type { ScriptStore } from '../../memory/script-store.js';
import type { ScriptServer } from '../../memory/server/script-server.js';
import { type ServerFinding, auditServer } from '../../queue/doctor/server-audit.js';
import { RedisUnsuitableError } from '../../queue/errors/errors.js';
import { remedyOfRefusal } from '../../queue/errors/redis-errors.js';
import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { RedisStore } from '../../queue/redis-store.js';
import { addressOf } from '../../queue/redis/address.js';
import { errorText, forwardErrors } from '../../queue/redis/connection-errors.js';
import { Connection } from '../../queue/redis/connection.js';
import { isCluster, isRedisClient, type RedisClient } from '../../queue/redis/redis-client.js';
import {
  silenceOf,
  type Silence,
  unansweredError,
  withResponseTimeout,
} from '../../queue/redis/response-timeout.js';
import { SHORTEST_TRIP_MS } from '../../queue/runtime/bounds.js';
import { systemClock } from '../../queue/runtime/clock.js';
import { withoutUndefined } from '../../queue/runtime/collections.js';
import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import { within } from '../../queue/runtime/waits.js';
import type { OutboxWriter } from '../../queue/store/outbox-writer.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import type { ResolvedModuleOptions } from '../job-queue.options.js';

/** The app's connection to the server of its queues: Redis, or in a test the memory of the process. */
export interface ServerConnection {
  readonly store: QueueStore;
  readonly connection: {
    readonly logger: SafeLogger;
    whenReady(): Promise<void>;
    /** Returns whether the server is connected: now, and at each change. */
    watch(listener: (connected: boolean) => void): void;
  };
  readonly ready: boolean;
  readonly isClosed: boolean;
  /** The address of the server, without a password. */
  readonly address: string;

  /** The last error of the connection. */
  readonly trouble: string;
  /** What to do about that error. */
  readonly remedy: string;

  /** @throws RedisUnsuitableError where the server is unsuitable, or not there in time */
  require(timeoutMs: number): Promise<void>;
  /** Waits until the server is there and suitable. Returns false if it is away. */
  reach(timeoutMs: number): Promise<boolean>;
  /** @throws RedisUnsuitableError without a reply in time */
  ask<Value>(timeoutMs: number, ask: () => Promise<Value>): Promise<Value>;
  /** Asks at once: does not wait for the server to be there. */
  askNow<Value>(timeoutMs: number, ask: () => Promise<Value>): Promise<Value>;
  ping(): Promise<void>;
  /** Returns what endangers jobs on the server. */
  audit(queues: readonly JobQueue[]): Promise<ServerFinding[]>;
  /** True with `redis: 'memory'`: its jobs end with this process, and no other process sees them. */
  readonly isEmbedded?: boolean;
  /** Takes the place of a database, for enqueues in a transaction: of a test. */
  readonly outbox?: OutboxWriter;
  /** Called when the worker of the app stops, with a promise that settles at its end. */
  stopping?(stopped: Promise<unknown>): void;
  close(timeoutMs?: number): Promise<void>;
}

/** Puts another server in the place of Redis. A global module provides it; `nest-job-queue/testing` does. */
export interface StoreOverride {
  connect(logger: SafeLogger): ServerConnection;
  adjust(options: ResolvedModuleOptions): ResolvedModuleOptions;
}

export const STORE_OVERRIDE: symbol = Symbol.for('nest-job-queue:store-override');

/** The time a QUIT may take, in ms. */
const QUIT_MS = 500;

/** The time the server may take to end a disconnected connection, in ms. ioredis waits for two seconds. */
const CUT_MS = 200;

/**
 * Work must continue within two seconds after an outage of any length. ioredis 6 waits up to 5.2 s between attempts.
 */
const LONGEST_PAUSE_MS = 1_000;

/** The interval at which a loading server is asked whether it has finished, in ms. ioredis believes its estimate, up to 10 s. */
const LOADING_MS = 500;

/** The command connection of the app's queues: made here, or handed in and then never closed here. */
export class RedisConnection implements ServerConnection {
  readonly connection: Connection;
  private readonly owned: boolean;
  private closing = false;

  /** @throws RedisUnsuitableError for a client with `keyPrefix` */
  constructor(redis: ResolvedModuleOptions['redis'], logger: JobQueueLogger) {
    this.owned = !isRedisClient(redis);
    const client = isRedisClient(redis) ? redis : openRedis(redis);
    this.connection = Connection.of(client);
    this.connection.logger = logger;
    if (this.owned) {
      forwardErrors(client, (error) => {
        this.connection.noteError(error);
        logger.warn(`Redis connection: ${errorText(error)}`);
      });
      logReturns(client, this.connection, logger);
    }
  }

  get store(): RedisStore {
    return RedisStore.of(this.client);
  }

  get client(): RedisClient {
    return this.connection.client;
  }

  get ready(): boolean {
    return this.connection.ready;
  }

  get isClosed(): boolean {
    return this.client.status === 'end';
  }

  /** The last error of the connection. */
  get trouble(): string {
    return this.connection.trouble ?? 'no answer';
  }

  /** What to do about that error. */
  get remedy(): string {
    const { client } = this;
    return remedyOf(this.trouble, isCluster(client) ? undefined : client.options.tls !== undefined);
  }

  /** The address of Redis, without a password. */
  get address(): string {
    return addressOf(this.client);
  }

  /**
   * Waits until Redis is there and found suitable.
   *
   * @throws RedisUnsuitableError when it is too old, or not there in time
   */
  async require(timeoutMs: number): Promise<void> {
    if (!(await this.reach(timeoutMs, false))) {
      throw new RedisUnsuitableError(
        `Could not connect to Redis at ${this.address} within ${timeoutMs} ms: ${this.trouble}. ${this.remedy}`,
      );
    }
  }

  /**
   * Waits until Redis is reachable and suitable. Returns false if it is clearly unreachable for now.
   *
   * @throws RedisUnsuitableError when it is too old
   */
  async reach(timeoutMs: number, endAtError = true): Promise<boolean> {
    this.checkOpen();
    const away = new AbortController();
    const onError = (error: Error) => {
      this.connection.noteError(error);
      if (endAtError) {
        away.abort();
      }
    };
    const there = this.connection.whenReady().then(
      () => {
        this.connection.trouble = undefined; // a client that was handed in has no listener that does so
        return true;
      },
      (error: Error) => {
        this.connection.noteError(error);
        if (error instanceof RedisUnsuitableError) {
          throw error;
        }
        return false; // it went away while it was asked
      },
    );
    const onEnd = () => away.abort();
    this.client.on('error', onError).on('end', onEnd);
    try {
      if (await within(systemClock, timeoutMs, there, () => false, { signal: away.signal })) {
        return true;
      }
    } finally {
      this.client.off('error', onError).off('end', onEnd);
    }
    this.checkOpen();
    return false;
  }

  /** @throws RedisUnsuitableError for a client that has ended, because it never connects by itself again */
  private checkOpen(): void {
    if (this.isClosed) {
      throw new RedisUnsuitableError(this.whyClosed);
    }
  }

  private get whyClosed(): string {
    const { address } = this;
    if (!this.owned) {
      return `The client of \`redis\` (${address}) was closed before the app started. Hand in an open client, and close it after the app.`;
    }
    return this.closing
      ? `The app was closed while it started, and its connection to Redis at ${address} with it.`
      : `The connection to Redis at ${address} has ended: ${this.trouble}. ` +
          'The retryStrategy of `redis` returned no delay. Leave it out, or let it return a number of ms.';
  }

  /**
   * Asks for something that must not hang when Redis is away.
   *
   * @param timeoutMs how long Redis may take to be there, and then to reply
   * @throws RedisUnsuitableError when there is no reply in time
   */
  async ask<Value>(timeoutMs: number, ask: () => Promise<Value>): Promise<Value> {
    if (!this.ready) {
      // Waits for the connection, because a command in the client's own queue could not be taken back.
      await this.limit(timeoutMs, this.connection.whenReady());
    }
    const reply = withResponseTimeout(this.client, Math.max(SHORTEST_TRIP_MS, timeoutMs), ask());
    return this.limit(timeoutMs, reply, silenceOf(this.client));
  }

  /**
   * Asks for something at once: does not wait for Redis to be there.
   *
   * @throws RedisUnsuitableError when it is not, or does not reply in time
   */
  async askNow<Value>(timeoutMs: number, ask: () => Promise<Value>): Promise<Value> {
    if (!this.ready && this.client.status !== 'wait') {
      const { trouble } = this.connection;
      throw unansweredError(`Redis at ${this.address} is not reachable${trouble ? ` (${trouble})` : ''}.`);
    }
    return this.limit(timeoutMs, ask());
  }

  /** Asks for a reply. Of a Cluster any master may give it. */
  async ping(): Promise<void> {
    const masters = isCluster(this.client) ? this.client.nodes('master') : [];
    await (masters.length > 0 ? Promise.any(masters.map((master) => master.ping())) : this.client.ping());
  }

  async audit(queues: readonly JobQueue[]): Promise<ServerFinding[]> {
    const { cluster } = await this.connection.inspect();
    return auditServer(this.client, cluster, queues);
  }

  /** @param silence the wait continues while bytes arrive on this connection; absent for a strict limit */
  private limit<Value>(timeoutMs: number, reply: Promise<Value>, silence?: Silence): Promise<Value> {
    const late = () => {
      const why = this.ready || !this.connection.trouble ? '' : ` (${this.connection.trouble})`;
      throw unansweredError(`Redis at ${this.address} did not answer within ${timeoutMs} ms${why}.`);
    };
    return within(systemClock, timeoutMs, reply, late, { moreMs: () => silence?.remainingMs(timeoutMs) ?? 0 });
  }

  /** Closes the connection if it was made here, within `timeoutMs`. */
  async close(timeoutMs: number = QUIT_MS): Promise<void> {
    this.closing = true;
    if (!this.owned || this.isClosed) {
      return;
    }
    if (this.ready && timeoutMs > 0) {
      const ended = new Promise((resolve) => this.client.once('end', resolve));
      this.client.quit().catch(() => undefined); // a failed connection is cut below
      await within(systemClock, Math.min(QUIT_MS, timeoutMs), ended, () => undefined);
    }
    this.client.disconnect();
  }
}

function openRedis(redis: Exclude<ResolvedModuleOptions['redis'], RedisClient>): Redis {
  // Connects on first use, so that an app that fails to boot for another reason leaves no connection behind.
  const base = {
    connectionName: 'nest-job-queue',
    maxRetriesPerRequest: null,
    disconnectTimeout: CUT_MS,
    retryStrategy: pauseBefore,
    maxLoadingRetryTime: LOADING_MS,
  };
  return typeof redis === 'string'
    ? new Redis(redis, { ...base, lazyConnect: true })
    : new Redis({ ...base, ...withoutUndefined<RedisOptions>(redis), lazyConnect: true });
}

/** Returns the pause before an attempt. Half of it is random, so that a fleet does not reconnect at once. */
function pauseBefore(attempt: number): number {
  return Math.min(LONGEST_PAUSE_MS, 50 * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/** Logs when a lost connection is back, because its loss was logged too. */
function logReturns(client: RedisClient, connection: Connection, logger: JobQueueLogger): void {
  let wasReady = false;
  let lostAt: number | undefined;
  client.on('close', () => {
    lostAt ??= wasReady ? systemClock.monotonic() : undefined;
  });
  client.on('ready', () => {
    connection.trouble = undefined;
    wasReady = true;
    if (lostAt !== undefined) {
      const seconds = Math.round((systemClock.monotonic() - lostAt) / 100) / 10;
      logger.log(`Redis connection: back after ${seconds} s`);
      lostAt = undefined;
    }
  });
}

/** The memory of each app. It goes with the app. */
const memoryServers = new WeakMap<object, ScriptServer>();

/**
 * Connects to the memory of an app, by the time of the process: `forRoot({ redis: 'memory' })`. The store is loaded now,
 * because an app with a server never needs it.
 */
export async function connectInMemory(app: object, logger: SafeLogger): Promise<ServerConnection> {
  const { ScriptStore } = await import('../../memory/script-store.js');
  const store = new ScriptStore(systemClock, { server: memoryServers.get(app) });
  memoryServers.set(app, store.server);
  return new EmbeddedConnection(store, logger);
}

/** The connection of an app whose queues are in memory: always there, and nothing to close. */
export class MemoryConnection implements ServerConnection {
  readonly connection: ServerConnection['connection'];
  readonly ready = true;
  readonly trouble = 'none';
  readonly remedy = '';
  isClosed = false;

  /** @param stopping called when the worker is being stopped */
  constructor(
    readonly store: ScriptStore,
    logger: SafeLogger,
    readonly stopping?: (stopped: Promise<unknown>) => void,
    readonly outbox?: OutboxWriter,
  ) {
    this.connection = { logger, whenReady: async () => {}, watch: (onChange) => onChange(true) };
  }

  get address(): string {
    return this.store.place;
  }

  async require(): Promise<void> {}

  async reach(): Promise<boolean> {
    return true;
  }

  /** Has no limit: a wait for the clock of the test takes as long as the test lets it. */
  async ask<Value>(_timeoutMs: number, ask: () => Promise<Value>): Promise<Value> {
    if (this.isClosed) {
      throw new RedisUnsuitableError('The app is closed, and its queues in memory with it.');
    }
    return ask();
  }

  askNow<Value>(_timeoutMs: number, ask: () => Promise<Value>): Promise<Value> {
    return this.ask(0, ask);
  }

  async ping(): Promise<void> {}

  async audit(): Promise<[]> {
    return [];
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

class EmbeddedConnection extends MemoryConnection {
  readonly isEmbedded = true;

  override async close(): Promise<void> {
    await super.close();
    this.store.close();
  }
}

/** What to do about the last error of a connection; the first that fits. */
const REMEDIES: readonly [RegExp, remedy: string][] = [
  [/NOAUTH|WRONGPASS|NOPERM/, 'Set the right user and password in `redis` or REDIS_URL.'],
  // An alert comes from the server, so it is hardly about the server's certificate.
  [
    /alert.*(certificate|unknown ca|handshake failure)/,
    'If Redis asks for a certificate of this client, set `tls: { cert, key }` in `redis`.',
  ],
  [/certificate (has expired|is not yet valid)/, 'Give Redis a certificate that is valid now.'],
  [/altnames/, 'Connect by a name that the certificate of Redis has.'],
  [/certificate/, 'NODE_EXTRA_CA_CERTS=<file> adds the authority of the certificate.'],
  [/RESP type|reply type byte/, 'Look whether the port is that of Redis, not of another server.'],
];

/** The errors of a connection whose other end speaks TLS, and this one does not, or the other way round. */
const OF_TLS = /ECONNRESET|EPIPE|EPROTO|SSL|closed/;

/**
 * Returns what to do about a connection that cannot be used.
 *
 * @param trouble its last error
 * @param isTls whether this process speaks TLS; undefined if that is not known
 */
export function remedyOf(trouble: string, isTls: boolean | undefined): string {
  const remedy = knownRemedy(trouble);
  if (remedy !== undefined) {
    return remedy;
  }
  if (isTls && (OF_TLS.test(trouble) || trouble === 'no answer')) {
    return 'If this port does not speak TLS, its address begins with redis://.';
  }
  return isTls === false && OF_TLS.test(trouble)
    ? 'If this port speaks only TLS, its address begins with rediss://.'
    : 'Start Redis, or set `redis` or REDIS_URL to where it is.';
}

/** Returns the end of a sentence about a failure: its cause, and what to do. */
export function causeInWords(failure: Error | undefined): string {
  if (!failure) {
    return '.';
  }
  const remedy = knownRemedy(failure.message) ?? '';
  // A typed error names its remedy itself.
  return `: ${failure.message.replace(/\.$/, '')}. ${failure.message.includes(remedy) ? '' : remedy}`.trimEnd();
}

function knownRemedy(trouble: string): string | undefined {
  return REMEDIES.find(([pattern]) => pattern.test(trouble))?.[1] ?? remedyOfRefusal(trouble);
}
