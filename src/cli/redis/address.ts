import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisClient } from '../../queue/redis/redis-client.js';
import { withoutPassword } from '../../queue/errors/show.js';
import { CliError, EXIT } from '../exit-codes.js';
import { refusePassword } from '../failure.js';

/** The address of Redis. */
export interface AddressOptions {
  redis?: string;
  cluster?: boolean;
  /** The name of the master, if the address is that of Sentinels. */
  sentinel?: string;
}

const CONNECT_MS = 5_000;
const SENTINEL_PORT = 26_379;
const REDIS_PORT = 6_379;
/** The REDIS_URL of an app whose queues are in its memory. */
const IN_MEMORY = 'memory';

/** The delay before a reconnect, in ms. */
const RETRY_MS = 500;

/** The handling of cut connections. */
export interface ConnectionLife {
  /** False: a command fails at once if Redis is away. */
  reconnects: boolean;
}

/** The client of one command, not yet connected. */
export interface ClientOfCommand {
  client: RedisClient;
  /** The address, without a password. */
  place: string;
  isTls: boolean;
  life: ConnectionLife;
}

/**
 * Creates the client of one command, not yet connected, with its address in words.
 *
 * @throws CliError for an invalid address, or one that shows a password to other users
 */
export function clientOf(options: AddressOptions, env: NodeJS.ProcessEnv): ClientOfCommand {
  const life: ConnectionLife = { reconnects: false };
  const retryStrategy = () => (life.reconnects ? RETRY_MS : null);
  const urls = urlsOf(options, env['REDIS_URL']);
  const place = urls.map(({ host }) => host).join(', ');
  const isTls = urls[0]!.protocol === 'rediss:';
  const settings: RedisOptions = {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    connectionName: 'nest-job-queue-cli',
    retryStrategy,
  };
  if (options.sentinel !== undefined) {
    const client = new Redis({
      ...settings,
      sentinelRetryStrategy: retryStrategy,
      ...sentinelSettings(options.sentinel, urls, env['REDIS_SENTINEL_PASSWORD']),
    });
    return { client, place: `${options.sentinel} of the Sentinels ${place}`, isTls, life };
  }
  const client = options.cluster ? clusterOf(urls, settings) : new Redis(urls[0]!.href, settings);
  return { client, place, isTls, life };
}

/** Connects to a Cluster. Further nodes have the user, the password and the TLS of the first address. */
function clusterOf(urls: readonly URL[], { lazyConnect, retryStrategy, ...settings }: RedisOptions): Cluster {
  const [{ username, password, protocol }] = urls as [URL];
  const nodes = urls.map((url) => ({ host: hostOf(url), port: Number(url.port || REDIS_PORT) }));
  return new Cluster(nodes, {
    lazyConnect,
    clusterRetryStrategy: retryStrategy!,
    enableReadyCheck: false, // it asks any node, and that one may be silent
    ...(protocol === 'rediss:' && { dnsLookup: keepName }),
    redisOptions: { ...settings, ...credentials(username, password), ...(protocol === 'rediss:' && { tls: {} }) },
  });
}

/**
 * Connects by the name of a node, because its certificate is for a name. ioredis would verify it against the address.
 */
function keepName(host: string, done: (error: null, host: string) => void): void {
  done(null, host);
}

/** Returns the host of a URL, without the brackets of an IPv6 address. */
function hostOf({ hostname }: URL): string {
  return hostname.replaceAll(/^\[|\]$/g, '');
}

/** Decodes the credentials of an address. */
function credentials(username: string, password: string): RedisOptions {
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
  };
}

/**
 * Returns the settings for Sentinels. User, password and database are those of the master. REDIS_SENTINEL_PASSWORD has
 * the Sentinels' own password.
 */
function sentinelSettings(name: string, urls: readonly URL[], sentinelPassword?: string): RedisOptions {
  const [{ username, password, pathname, protocol }] = urls as [URL];
  const database = Number(pathname.slice(1));
  const isTls = protocol === 'rediss:';
  return {
    name,
    sentinels: urls.map((url) => ({ host: hostOf(url), port: Number(url.port || SENTINEL_PORT) })),
    ...credentials(username, password),
    ...(database > 0 && { db: database }),
    ...(sentinelPassword && { sentinelPassword }),
    ...(isTls && { tls: {}, enableTLSForSentinelMode: true }),
  };
}

/** Returns the addresses. Commas separate those of Sentinels or of nodes of a Cluster. */
function urlsOf({ redis, cluster, sentinel }: AddressOptions, set?: string): URL[] {
  const text = redis ?? set ?? 'redis://localhost:6379';
  const parts = cluster || sentinel !== undefined ? text.split(',') : [text];
  const urls = parts.map((part) => urlOf(part.trim()));
  if (redis !== undefined) {
    urls.forEach((url) => refusePassword('redis', 'REDIS_URL', url));
  }
  return urls;
}

function urlOf(text: string): URL {
  if (text === IN_MEMORY) {
    throw new CliError(
      `The address of Redis is "${IN_MEMORY}": those jobs are inside of the app, and no other program sees them. ` +
        'Look at the dashboard of the app, or name a Redis by --redis.',
      EXIT.usage,
    );
  }
  const given = text.includes('://') ? text : `redis://${text}`;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') {
    const hint = 'Expected redis://host:port, or rediss:// for TLS, in --redis or REDIS_URL.';
    throw new CliError(`The address of Redis is invalid. ${hint}`, EXIT.usage);
  }
  if (!/^\/?\d*$/.test(url.pathname) || url.hash !== '') {
    const found = JSON.stringify(withoutPassword(text));
    throw new CliError(
      `The address of Redis ends with the number of a database. Expected redis://host:port/<number>, found ${found}.`,
      EXIT.usage,
    );
  }
  return url;
}
