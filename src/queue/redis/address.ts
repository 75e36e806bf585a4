import slotOf from 'cluster-key-slot';
import { startupNodesOf, type ServerAddress, addressOfSlot, masterOfSlot } from './ioredis-internals.js';
import { isCluster, type RedisClient, streamOf } from './redis-client.js';

/** The most servers that an address names. */
const MOST_NAMED = 3;

/** Returns where a client looks for Redis, without user and password. */
export function addressOf(client: RedisClient): string {
  if (isCluster(client)) {
    return `the cluster${named(' of ', startupNodesOf(client))}`;
  }
  const { path, host, port, db, sentinels, name } = client.options;
  const base = db ? `/${db}` : '';
  if (sentinels && sentinels.length > 0) {
    return `the master "${name ?? ''}"${base}${named(' of the sentinels ', sentinels)}`;
  }
  return path ?? `${host}:${port}${base}`;
}

function named(words: string, places: readonly ServerAddress[]): string {
  const known = places.slice(0, MOST_NAMED).map(placeOf).join(', ');
  return known && `${words}${known}${places.length > MOST_NAMED ? ', …' : ''}`;
}

function placeOf(place: ServerAddress): string {
  if (typeof place === 'number') {
    return `127.0.0.1:${place}`;
  }
  if (typeof place === 'string') {
    return URL.canParse(place) ? new URL(place).host : 'a URL that cannot be read';
  }
  return `${place.host ?? '127.0.0.1'}:${place.port ?? 6379}`;
}

/** Returns the address of the master that a client asks about a key; '' for the only one. */
export function serverOfKey(client: RedisClient, key: string): string {
  return isCluster(client) ? addressOfSlot(client, slotOf(key)) : '';
}

/** Returns the socket over which a client asks about a key. It is another one after a reconnect. */
export function socketOfKey(client: RedisClient, key: string): object | undefined {
  const node = isCluster(client) ? masterOfSlot(client, slotOf(key))?.node : client;
  return node && streamOf(node);
}
