import { InvalidOptionError } from './errors/errors.js';
import { show } from './errors/show.js';
import { isRedisClient, type RedisClient } from './redis/redis-client.js';
import { RedisStore } from './redis-store.js';
import type { QueueStore } from './store/queue-store.js';

/**
 * Returns the store behind what a queue was given: a client, or a store itself.
 *
 * @throws InvalidOptionError
 */
export function storeOf(client: RedisClient | QueueStore): QueueStore {
  if (isRedisClient(client)) {
    return RedisStore.of(client);
  }
  if (typeof (client as Partial<QueueStore> | null | undefined)?.exec === 'function' && 'clock' in client) {
    return client;
  }
  throw new InvalidOptionError('client', 'a Redis or Cluster of ioredis', show(client));
}
