import type { Cluster, Redis } from 'ioredis';

/** A client that the application made with ioredis 5 or 6. */
export type RedisClient = Redis | Cluster;

export function isCluster(client: RedisClient): client is Cluster {
  return client.isCluster;
}
