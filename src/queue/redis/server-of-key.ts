import slotOf from 'cluster-key-slot';
import { addressOfSlot } from './ioredis-internals.js';
import { isCluster, type RedisClient } from './redis-client.js';

/** Returns the address of the master that a client asks about a key; '' for the only one. */
export function serverOfKey(client: RedisClient, key: string): string {
  return isCluster(client) ? addressOfSlot(client, slotOf(key)) : '';
}
