import type { Redis, RedisOptions } from 'ioredis';
import { RedisUnsuitableError } from '../errors/errors.js';
import { SafeLogger } from '../errors/safe-logger.js';
import { keptIn } from '../runtime/collections.js';
import { type JobQueueLogger, silentLogger } from '../runtime/logger.js';
import { outsideOfCaller } from '../runtime/clock.js';
import { onPermissionError, requireAsking, firstReply } from './cluster/cluster-permissions.js';
import { errorText, forwardErrors, explainRefusal } from './connection-errors.js';
import { type RedisClient, isCluster, streamOf } from './redis-client.js';
import { retryUntilAnswered, withHandshakeTimeout } from './response-timeout.js';

/** The environment variable that admits a server which lacks something. */
const ANY_SERVER = 'NEST_JOB_QUEUE_ANY_SERVER';

/** A key that no queue has, for the probe of a server. */
const PROBED_KEY = 'queue:probe';

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
  /** False for a Cluster without SPUBLISH and SSUBSCRIBE, which cannot wake a worker by its channel. */
  hasShardedChannels: boolean;
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
   * @throws RedisUnsuitableError when it lacks what scripts need; RedisPermissionError
   */
  async inspect(): Promise<ServerFacts> {
    this.asking ??= this.ask().catch((error: unknown) => {
      this.asking = undefined;
      throw error;
    });
    return this.asking;
  }

  private async ask(): Promise<ServerFacts> {
    const told = firstReply(this.client, (node) => node.info('server'));
    const info = await retryUntilAnswered(this.client, told).catch((error: unknown) => {
      throw explainRefusal(error);
    });
    const { version, other, isKnown } = serverIn(info);
    if (!isKnown) {
      await this.requireAbilities(other ?? `Redis ${version}`);
    }
    const cluster = isCluster(this.client) || /^redis_mode:cluster/m.test(info);
    const hasShardedChannels =
      isKnown || !cluster || (await retryUntilAnswered(this.client, canPublishSharded(this.client, PROBED_KEY)));
    await retryUntilAnswered(this.client, requireAsking(this.client));
    await requireDatabase(this.client);
    this.knownFacts = { version, cluster, hasShardedChannels };
    return this.knownFacts;
  }

  /** Judges a server by what it can. @param server its name and version, for the error */
  private async requireAbilities(server: string): Promise<void> {
    const missing = await retryUntilAnswered(this.client, missingAbilities(this.client, PROBED_KEY));
    if (missing.length === 0) {
      return;
    }
    const lacks = `${server} lacks what scripts need: ${missing.join(', ')}`;
    if (process.env[ANY_SERVER] === '1') {
      return this.logger.warn(
        `${lacks}. It is used all the same, because of ${ANY_SERVER}. A script may end halfway.`,
      );
    }
    throw new RedisUnsuitableError(
      `${lacks}. Use Redis 7.0 or later, or set ${ANY_SERVER}=1. Then a script that meets a missing command ends halfway.`,
    );
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
      outsideOfCaller(() => this.client.connect()).catch(() => undefined); // a failure is retried by the client, and shown by its status
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
    const { client } = this;
    const copy = outsideOfCaller(() =>
      isCluster(client)
        ? client.duplicate([], { ...LASTING, redisOptions: { ...client.options.redisOptions, ...LASTING } })
        : client.duplicate({ ...LASTING, ...own }),
    );
    return this.heard(copy, purpose);
  }

  /** Makes another connection to one master of a Cluster, for calls that subscribe. The caller closes it. */
  duplicateMaster(master: Redis, purpose: string, own: RedisOptions = {}): Redis {
    const copy = outsideOfCaller(() => master.duplicate({ ...LASTING, retryStrategy: pauseBefore, ...own }));
    return this.heard(copy, purpose);
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

/** The versions in INFO that are of Redis, of its forks that the tests run on, or of no server. */
const KNOWN_VERSIONS = new Set(['redis', 'valkey', 'redict', 'gcc']);

/**
 * Returns the version of Redis that a server tells, and the name of any other product. Such a product tells the version whose
 * protocol it speaks, and may lack some of it.
 */
function serverIn(info: string): { version: string; other: string | undefined; isKnown: boolean } {
  const version = /^(?:redis|valkey)_version:(\S+)/m.exec(info)?.[1] ?? '0.0';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOlder = major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1]);
  const versions = [...info.matchAll(/^(?:(\w+)_)?version:(\S+)/gm)];
  const product = versions.find(([, name = '']) => !KNOWN_VERSIONS.has(name));
  const other = product && `${product[1] ?? 'The server'} ${product[2]} (as Redis ${version})`;
  return { version, other, isKnown: !isOlder && !product };
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

/**
 * Repeats the SELECT of a client for another database than 0. If Redis refuses it, ioredis only emits an error, and its
 * commands go to database 0.
 *
 * @throws RedisUnsuitableError for a database that the server does not have; RedisPermissionError
 */
async function requireDatabase(client: RedisClient): Promise<void> {
  const database = databaseOf(client);
  if (isCluster(client) || database === 0) {
    return;
  }
  await retryUntilAnswered(client, client.select(database)).catch((error: Error) => {
    throw /out of range/.test(error.message)
      ? new RedisUnsuitableError(
          `Redis has no database ${database} (${error.message}): expected one that it has, in the URL or the option \`db\`.`,
          { cause: error },
        )
      : explainRefusal(error);
  });
}

/** Returns the database that ioredis takes for the current one. It may have been selected after the start. */
function databaseOf(client: RedisClient): number {
  return (client as { condition?: { select?: number } | null }).condition?.select ?? 0;
}

/**
 * Reads each reply of the server as soon as it arrives. ioredis adds its reader by `prependListener`
 * (redis/ioredis#1937). So Node's stream does not know of its listener, and keeps each reply until the end of the tick.
 * That is 6 to 7 % of the latency of a job in an idle queue. A second listener, added by `on`, avoids that. Connections
 * that ioredis hides stay as they are, such as a Cluster client's subscriber.
 */
function enableFlowingReads(client: RedisClient): void {
  if (isCluster(client)) {
    client.nodes().forEach(listenWhenReady);
    client.on('+node', listenWhenReady);
  } else {
    listenWhenReady(client);
  }
}

/** Listens to each connection of the client once it is ready, because its reader exists by then and misses nothing. */
function listenWhenReady(client: Redis): void {
  const listen = () => void streamOf(client)?.on('data', ignore);
  if (client.status === 'ready') {
    listen();
  }
  client.on('ready', listen);
}

function ignore(): void {}

/** The abilities that scripts need beyond those of Redis 6.0, each as a command on a missing key. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  'RPOP with a count': ['RPOP', '1'],
  'PEXPIRE with NX': ['PEXPIRE', '1', 'NX'],
  'ZRANGE with BYSCORE': ['ZRANGE', '0', '0', 'BYSCORE'],
  ZMSCORE: ['ZMSCORE', 'a'],
  HRANDFIELD: ['HRANDFIELD', '1'],
  'XADD with NOMKSTREAM': ['XADD', 'NOMKSTREAM', '*', 'a', 'b'],
};

/** Tries to wake nobody. A server that has the command may refuse it to this user, by another error. */
const PROBE_CHANNEL = `
local reply = redis.pcall('SPUBLISH', KEYS[1], '')
return type(reply) == 'table' and string.find(string.lower(reply.err), 'unknown') and 1 or 0`;

/** Tries each command on a missing key, to which none of them writes. Returns the positions of the refused commands. */
const PROBE = `
local refused = {}
for i, arguments in ipairs(cjson.decode(ARGV[1])) do
  local command = table.remove(arguments, 1)
  local reply = redis.pcall(command, KEYS[1], unpack(arguments))
  if type(reply) == 'table' and reply.err then
    refused[#refused + 1] = i
  end
end
if not redis.acl_check_cmd then
  refused[#refused + 1] = 0
end
return refused`;

/** The time that the probe waits for a missing key, in seconds. */
const SHORTEST_WAIT_S = 0.001;

const WITH_FLAGS = '#!lua flags=no-writes,allow-oom\nreturn 1';

/**
 * Returns which abilities a server lacks that scripts need. It writes nothing.
 *
 * @param key a key that does not exist
 */
export async function missingAbilities(client: RedisClient, key: string): Promise<string[]> {
  const names = Object.keys(COMMANDS);
  const flags = await client.eval(WITH_FLAGS, 1, key).catch(refusalOf);
  const waits = await client.bzpopmin(key, SHORTEST_WAIT_S).then(() => true, waitsBeyond);
  const refused = await client.eval(PROBE, 1, key, JSON.stringify(Object.values(COMMANDS))).catch(refusalOf);
  return [
    ...(flags === undefined ? ['flags of scripts (#!lua flags=…)'] : []),
    ...(waits ? [] : ['BZPOPMIN']),
    ...(Array.isArray(refused)
      ? refused.map((position) => names[Number(position) - 1] ?? 'redis.acl_check_cmd in scripts')
      : ['scripts (EVAL) with cjson']),
  ];
}

/** Returns whether scripts may publish on a channel of one slot. */
async function canPublishSharded(client: RedisClient, channel: string): Promise<boolean> {
  const isUnknown = await client.eval(PROBE_CHANNEL, 1, channel).catch(refusalOf);
  return isUnknown === 0;
}

/** Returns whether a refused wait is only not permitted: then a worker polls. @throws any other error, such as a lost connection */
function waitsBeyond(error: Error): boolean {
  return error.message.startsWith('NOPERM') || refusalOf(error) !== undefined;
}

/** Returns undefined for a refusal of what was asked. @throws any other error, such as a lost connection */
function refusalOf(error: Error): undefined {
  if (!error.message.startsWith('ERR')) {
    throw error;
  }
  return undefined;
}
