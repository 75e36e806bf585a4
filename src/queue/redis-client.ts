import type { Cluster, Redis } from 'ioredis';

/** A client that the application made with ioredis 5 or 6. */
export type RedisClient = Redis | Cluster;

export function isCluster(client: RedisClient): client is Cluster {
  return client.isCluster;
}

/** Whether a value is a client of ioredis, of whichever copy or version of it. */
export function isRedisClient(value: unknown): value is RedisClient {
  const { isCluster: cluster, duplicate, evalsha } = (value ?? {}) as Partial<Redis>;
  return typeof cluster === 'boolean' && typeof duplicate === 'function' && typeof evalsha === 'function';
}
