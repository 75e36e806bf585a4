// How a process reaches Redis.
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisClient } from '#queue/redis/redis-client.js';

interface Address {
  host: string;
  port: number;
}

export type Line =
  | { kind: 'server'; url: string }
  | { kind: 'sentinel'; name: string; sentinels: Address[] }
  | { kind: 'cluster'; nodes: Address[] };

/** A client as an application should make it, see docs/reliability.md. @param name what the server calls it */
export function connectTo(line: Line, name: string, more: RedisOptions = {}): RedisClient {
  const options = {
    ...more,
    connectionName: name,
    maxRetriesPerRequest: null,
    retryStrategy: (attempt: number) => Math.min(1_000, 50 * attempt),
    maxLoadingRetryTime: 500,
  };
  switch (line.kind) {
    case 'server':
      return new Redis(line.url, options);
    case 'sentinel':
      return new Redis({ ...options, sentinels: line.sentinels, name: line.name });
    default:
      return new Cluster(line.nodes, {
        clusterRetryStrategy: () => 100,
        slotsRefreshTimeout: 2_000,
        redisOptions: { connectionName: name },
      });
  }
}
