import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisClient } from '../queue/redis/redis-client.js';
import { CliError, EXIT } from './exit-codes.js';

/** Where Redis is. */
export interface AddressOptions {
  redis?: string;
  cluster?: boolean;
  /** The name of the master, where the address is that of Sentinels. */
  sentinel?: string;
}

const CONNECT_MS = 5_000;
const SENTINEL_PORT = 26_379;

/** A command is told at once that Redis is away. */
const retryStrategy = () => null;

/**
 * Makes the client of one command, not yet connected, and says where it goes.
 *
 * @throws CliError for an address that is none, or that shows a password to everybody
 */
export function clientOf(options: AddressOptions): { client: RedisClient; place: string } {
  const urls = urlsOf(options);
  const place = urls.map(({ host }) => host).join(', ');
  const settings: RedisOptions = {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    connectionName: 'nest-job-queue cli',
    retryStrategy,
  };
  if (options.sentinel !== undefined) {
    const client = new Redis({ ...settings, ...sentinelSettings(options.sentinel, urls) });
    return { client, place: `${options.sentinel} of the Sentinels ${place}` };
  }
  const client = options.cluster
    ? new Cluster(
        urls.map(({ href }) => href),
        { ...settings, clusterRetryStrategy: retryStrategy },
      )
    : new Redis(urls[0]!.href, settings);
  return { client, place };
}

export function unreachable(place: string, error: Error): CliError {
  const why = (error as NodeJS.ErrnoException).code ?? error.message;
  const hint = 'Start Redis, or set REDIS_URL or --redis to where it is.';
  return new CliError(`Redis at ${place} cannot be reached (${why}). ${hint}`, EXIT.unreachable);
}

/** User, password and database are those of the master; a password of the Sentinels themselves is in REDIS_SENTINEL_PASSWORD. */
function sentinelSettings(name: string, urls: readonly URL[]): RedisOptions {
  const [{ username, password, pathname, protocol }] = urls as [URL];
  const database = Number(pathname.slice(1));
  const sentinelPassword = process.env['REDIS_SENTINEL_PASSWORD'];
  const isTls = protocol === 'rediss:';
  return {
    name,
    sentinels: urls.map((url) => ({ host: url.hostname, port: Number(url.port || SENTINEL_PORT) })),
    sentinelRetryStrategy: retryStrategy,
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(database > 0 && { db: database }),
    ...(sentinelPassword && { sentinelPassword }),
    ...(isTls && { tls: {}, enableTLSForSentinelMode: true }),
  };
}

/** Several addresses, of Sentinels or of nodes of a Cluster, are separated by commas. */
function urlsOf({ redis, cluster, sentinel }: AddressOptions): URL[] {
  const text = redis ?? process.env['REDIS_URL'] ?? 'redis://localhost:6379';
  const parts = cluster || sentinel !== undefined ? text.split(',') : [text];
  const urls = parts.map((part) => urlOf(part.trim()));
  if (redis !== undefined && urls.some(({ password }) => password !== '')) {
    const hint = 'Everybody on this machine can read the arguments. Put the address into REDIS_URL.';
    throw new CliError(`--redis has a password in it. ${hint}`, EXIT.usage);
  }
  return urls;
}

function urlOf(text: string): URL {
  const given = text.includes('://') ? text : `redis://${text}`;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') {
    const hint = 'Expected redis://host:port, or rediss:// for TLS, in --redis or REDIS_URL.';
    throw new CliError(`The address of Redis is not one. ${hint}`, EXIT.usage);
  }
  return url;
}
