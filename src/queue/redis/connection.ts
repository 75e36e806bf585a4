import type { Redis, RedisOptions } from 'ioredis';
import { onPermissionError, requireAsking } from './cluster/cluster-permissions.js';
import { requireDatabase } from './database.js';
import { RedisUnsuitableError } from '../errors/errors.js';
import { errorText, forwardErrors } from './connection-errors.js';
import { silentLogger, type JobQueueLogger } from '../runtime/logger.js';
import { SafeLogger } from '../errors/safe-logger.js';
import { explainRefusal } from './permission-error.js';
import { enableFlowingReads } from './flowing-reads.js';
import { isCluster, type RedisClient } from './redis-client.js';
import { retryUntilAnswered, withHandshakeTimeout } from './response-timeout.js';
import { keptIn } from '../runtime/kept.js';

const OLDEST_REDIS = [7, 0] as const;

/** The options of connections that outlive any `commandTimeout`, as a blocking call does, and any outage. */
const LASTING = {
  maxRetriesPerRequest: null,
  commandTimeout: undefined,
  enableAutoPipelining: false,
  enableOfflineQueue: true,
  lazyConnect: false,
};

/** The time after which the same warning is logged again, in ms. */
const SAME_WARNING_MS = 60_000;

const pauseBefore = (attempt: number) => Math.min(attempt * 50, 2_000);

/** The properties of a server. */
interface ServerFacts {
  version: string;
  /** True where every key of a script must be in one slot. */
  cluster: boolean;
}

/**
 * A client of the application, with the parts that all its queues share. They are the server's properties, and
 * connections for blocking and subscribing. It never closes the client itself.
 */
export class Connection {
  private static readonly known = new WeakMap<RedisClient, Connection>();
  private knownFacts: ServerFacts | undefined;
  private asking: Promise<ServerFacts> | undefined;
  private becomingReady: Promise<void> | undefined;
  /** The last error since the client was connected, without a final period. Undefined if nobody listens to errors. */
  trouble: string | undefined;
  /** The last warnings of connections, and when they were logged. */
  private readonly warnedAt = new Map<string, number>();
  private ownLogger = SafeLogger.of(silentLogger);

  /** Keeps an error of the client, for errors that say why Redis cannot be used. */
  noteError(error: Error): void {
    this.trouble = errorText(error).replace(/\.$/, '');
  }

  /**
   * Returns the connection of a client, always the same object.
   *
   * @throws RedisUnsuitableError when the client has a `keyPrefix`: use the `prefix` option
   */
  static of(client: RedisClient): Connection {
    return keptIn(Connection.known, client, () => new Connection(client));
  }

  private constructor(readonly client: RedisClient) {
    refuseKeyPrefix(client);
    enableFlowingReads(client);
  }

  /** The properties of the server, once they were read. */
  get facts(): ServerFacts | undefined {
    return this.knownFacts;
  }

  /** True where every key of a script must be in one slot. False before the properties were read. */
  get isSharded(): boolean {
    return this.knownFacts?.cluster ?? false;
  }

  /** The logger for errors of the connections made here. */
  get logger(): SafeLogger {
    return this.ownLogger;
  }

  set logger(logger: JobQueueLogger) {
    this.ownLogger = SafeLogger.of(logger);
  }

  get ready(): boolean {
    return this.client.status === 'ready';
  }

  /**
   * Reads the properties of the server, once.
   *
   * @throws RedisUnsuitableError when it is older than Redis 7.0; RedisPermissionError
   */
  async inspect(): Promise<ServerFacts> {
    this.asking ??= this.ask().catch((error: unknown) => {
      this.asking = undefined;
      throw error;
    });
    return this.asking;
  }

  private async ask(): Promise<ServerFacts> {
    const info = await retryUntilAnswered(this.client, this.client.info('server')).catch((error: unknown) => {
      throw explainRefusal(error);
    });
    const version = /^(?:redis|valkey)_version:(\S+)/m.exec(info)?.[1] ?? '0.0';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1])) {
      throw new RedisUnsuitableError(
        `Redis ${version} is too old: expected 7.0 or later, for script flags and PEXPIRE's options.`,
      );
    }
    await retryUntilAnswered(this.client, requireAsking(this.client));
    await requireDatabase(this.client);
    this.knownFacts = { version, cluster: isCluster(this.client) || /^redis_mode:cluster/m.test(info) };
    return this.knownFacts;
  }

  /**
   * Waits until the client is connected and the server is known to be suitable. It has no time limit.
   *
   * @throws RedisUnsuitableError for a closed client or an old server. RedisPermissionError without a permission to
   *   connect to a Cluster or to read the server's version.
   */
  async whenReady(): Promise<void> {
    if (this.client.status === 'end') {
      throw new RedisUnsuitableError('The Redis client is closed.');
    }
    if (this.client.status === 'wait') {
      this.client.connect().catch(() => undefined); // a failure is retried by the client, and shown by its status
    }
    if (!this.ready) {
      this.becomingReady ??= this.becomeReady();
      await this.becomingReady;
    }
    await this.inspect();
  }

  private becomeReady(): Promise<void> {
    return new Promise((resolve, reject) => {
      const endSupervision = withHandshakeTimeout(this.client);
      const endHearing = onPermissionError(this.client, (error) => {
        end();
        reject(error);
      });
      const end = () => {
        endSupervision();
        endHearing();
        this.client.off('ready', ready);
        this.becomingReady = undefined;
      };
      const ready = () => {
        end();
        resolve();
      };
      this.client.once('ready', ready);
    });
  }

  /** Returns whether the client is connected: now, and at each change. */
  watch(onChange: (connected: boolean) => void): void {
    let known: boolean | undefined;
    const look = () => {
      if (this.ready !== known) {
        known = this.ready;
        onChange(known);
      }
    };
    this.client.on('ready', look);
    this.client.on('close', look);
    look();
  }

  /**
   * Makes another connection to the same server, for calls that block or subscribe. The caller closes it.
   *
   * @param own different options, except for a Cluster, which replaces its connections itself
   */
  duplicate(purpose: string, own: RedisOptions = {}): RedisClient {
    const copy = isCluster(this.client)
      ? this.client.duplicate([], {
          ...LASTING,
          redisOptions: { ...this.client.options.redisOptions, ...LASTING },
        })
      : this.client.duplicate({ ...LASTING, ...own });
    return this.heard(copy, purpose);
  }

  /** Makes another connection to one master of a Cluster, for calls that subscribe. The caller closes it. */
  duplicateMaster(master: Redis, purpose: string, own: RedisOptions = {}): Redis {
    return this.heard(master.duplicate({ ...LASTING, retryStrategy: pauseBefore, ...own }), purpose);
  }

  /** Logs the same warning once a minute. While its server is away, a connection is tried again all the time. */
  private warn(message: string): void {
    const now = performance.now();
    this.warnedAt.forEach((at, other) => now - at >= SAME_WARNING_MS && this.warnedAt.delete(other));
    if (!this.warnedAt.has(message)) {
      this.warnedAt.set(message, now);
      this.logger.warn(message);
    }
  }

  private heard<Client extends RedisClient>(copy: Client, purpose: string): Client {
    forwardErrors(copy, (error) => this.warn(`Redis connection (${purpose}): ${error.message}`));
    enableFlowingReads(copy);
    return copy;
  }
}

function refuseKeyPrefix(client: RedisClient): void {
  const keyPrefix = isCluster(client) ? client.options.keyPrefix : client.options.keyPrefix;
  if (keyPrefix) {
    throw new RedisUnsuitableError(
      `The Redis client has keyPrefix ${JSON.stringify(keyPrefix)}, which scripts and events cannot see: ` +
        `expected a client without one. Give the queue the option prefix instead.`,
    );
  }
}
