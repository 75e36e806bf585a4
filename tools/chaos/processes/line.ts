// The connection of a process to Redis.
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisClient } from '#queue/redis/redis-client.js';

interface Address {
  host: string;
  port: number;
}

/** Proxy addresses, by the server's own address. */
type Detours = Record<string, Address>;

export type Line =
  | { kind: 'server'; url: string }
  | { kind: 'sentinel'; name: string; sentinels: Address[]; detours?: Detours }
  | { kind: 'cluster'; nodes: Address[]; detours?: Detours };

/** Returns the same line by way of proxies, one before each of its servers. */
export function throughProxies(line: Line, urls: readonly string[], proxyUrls: readonly string[]): Line {
  if (line.kind === 'server') return { kind: 'server', url: proxyUrls[0]! };
  const detours = Object.fromEntries(
    urls.map((url, i) => [new URL(url).host, { host: '127.0.0.1', port: Number(new URL(proxyUrls[i]!).port) }]),
  );
  return { ...line, detours };
}

/**
 * Returns a client as an application should make it, see docs/reliability.md. @param name the client name at the server
 */
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
      return new Redis({ ...options, ...natMapOf(line), sentinels: line.sentinels, name: line.name });
    default:
      return new Cluster(line.nodes, {
        ...natMapOf(line),
        clusterRetryStrategy: () => 100,
        slotsRefreshTimeout: 2_000,
        redisOptions: { connectionName: name },
      });
  }
}

function natMapOf({ detours }: { detours?: Detours }) {
  return detours ? { natMap: detours } : {};
}
