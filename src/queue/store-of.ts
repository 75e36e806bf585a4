import { InvalidOptionError } from './errors/errors.js';
import { show } from './errors/show.js';
import { isRedisClient, type ForeignRedisClient, type RedisClient } from './redis/redis-client.js';
import { RedisStore } from './redis-store.js';
import type { QueueStore } from './store/queue-store.js';

/**
 * Returns the store of a queue: for a client, or the given store itself.
 *
 * @throws InvalidOptionError
 */
export function storeOf(client: RedisClient | ForeignRedisClient | QueueStore): QueueStore {
  if (isRedisClient(client)) {
    return RedisStore.of(client);
  }
  if (isStore(client)) {
    return client;
  }
  throw new InvalidOptionError('client', 'a Redis or Cluster of ioredis', show(client));
}

function isStore(value: unknown): value is QueueStore {
  const { exec, clock } = (value ?? {}) as Partial<QueueStore>;
  return typeof exec === 'function' && clock !== undefined;
}
