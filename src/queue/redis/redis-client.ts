import type { Cluster, Redis } from 'ioredis';

/** A client that the application made with ioredis 5 or 6. */
export type RedisClient = Redis | Cluster;

/**
 * A client of another copy or version of ioredis than this package's. It is equal at run time, but another type for the
 * compiler.
 */
export interface ForeignRedisClient {
  /** True if it is a client of a Cluster. */
  readonly isCluster: boolean;
  /** The state of the connection, as ioredis names it. */
  readonly status: string;
  /** Ends the connection. */
  disconnect(reconnect?: boolean): void;
  /** Makes another client with the same options. */
  duplicate(...args: never[]): unknown;
  /** Runs a script. */
  evalsha(...args: never[]): unknown;
}

export function isCluster(client: RedisClient): client is Cluster {
  return client.isCluster;
}

/**
 * Returns the socket of a single connection, other than ioredis declares undefined before the first; a Cluster has
 * many.
 */
export function streamOf(client: RedisClient): Redis['stream'] | undefined {
  return isCluster(client) ? undefined : client.stream;
}

/** Returns whether a value is a client of ioredis, from any copy or version of the package. */
export function isRedisClient(value: unknown): value is RedisClient {
  const { isCluster: cluster, duplicate, evalsha } = (value ?? {}) as Partial<Redis>;
  return typeof cluster === 'boolean' && typeof duplicate === 'function' && typeof evalsha === 'function';
}

/** The time a new connection is kept, in ms, even if it leads to a replica again. */
const KEPT_MS = 500;

const left = new WeakMap<RedisClient, number>();

/**
 * Reconnects to leave a server that has become a replica. The new master is behind the same address, or Sentinel names
 * it. The old connection would stay open forever. A Cluster redirects its clients itself.
 */
export function leaveReplica(client: RedisClient): void {
  const now = performance.now();
  if (!isCluster(client) && client.status === 'ready' && now - (left.get(client) ?? -Infinity) > KEPT_MS) {
    left.set(client, now);
    client.disconnect(true);
  }
}
