import { Cluster, Redis } from 'ioredis';
import type { RedisClient } from '../redis/redis-client.js';

/** Returns whether the calls of a tick are sent after it: by a client of another copy with automatic pipelining. */
export function isAutoPipelinedForeignClient(client: RedisClient): boolean {
  return client.options.enableAutoPipelining === true && !isOfOurCopy(client);
}

/** Returns whether the client is of our copy of ioredis. Another copy may have other commands. */
export function isOfOurCopy(client: RedisClient): boolean {
  return client instanceof Redis || client instanceof Cluster;
}
