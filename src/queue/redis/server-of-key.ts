import slotOf from 'cluster-key-slot';
import { addressOfSlot, masterOfSlot } from './ioredis-internals.js';
import { isCluster, streamOf, type RedisClient } from './redis-client.js';

/** Returns the address of the master that a client asks about a key; '' for the only one. */
export function serverOfKey(client: RedisClient, key: string): string {
  return isCluster(client) ? addressOfSlot(client, slotOf(key)) : '';
}

/** Returns the socket over which a client asks about a key. It is another one after a reconnect. */
export function socketOfKey(client: RedisClient, key: string): object | undefined {
  const node = isCluster(client) ? masterOfSlot(client, slotOf(key))?.node : client;
  return node && streamOf(node);
}
