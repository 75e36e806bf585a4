import { afterEach, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { addressOf } from '#queue/redis/address.js';
import type { RedisClient } from '#queue/redis/redis-client.js';

const clients: RedisClient[] = [];

afterEach(() => clients.splice(0).forEach((client) => client.disconnect()));

function kept<Client extends RedisClient>(client: Client): Client {
  clients.push(client);
  return client;
}

const NODES = [1, 2, 3, 4].map((last) => ({ host: `10.0.0.${last}`, port: 7000 }));

it.each<[string, () => RedisClient, string]>([
  ['a host', () => new Redis('redis://user:secret@cache:6380', { lazyConnect: true }), 'cache:6380'],
  ['a database', () => new Redis({ host: 'cache', db: 2, lazyConnect: true }), 'cache:6379/2'],
  ['a socket', () => new Redis('/run/redis.sock', { lazyConnect: true }), '/run/redis.sock'],
  [
    'sentinels',
    () => new Redis({ sentinels: NODES.slice(0, 2), name: 'main', password: 'secret', lazyConnect: true }),
    'the master "main" of the sentinels 10.0.0.1:7000, 10.0.0.2:7000',
  ],
  [
    'a cluster',
    () => new Cluster(NODES, { lazyConnect: true, redisOptions: { password: 'secret' } }),
    'the cluster of 10.0.0.1:7000, 10.0.0.2:7000, 10.0.0.3:7000, …',
  ],
  [
    'a cluster given by URLs and ports',
    () => new Cluster(['redis://user:secret@a:7000', 7001], { lazyConnect: true }),
    'the cluster of a:7000, 127.0.0.1:7001',
  ],
])('the address of %s has no password', (_, client, address) => {
  expect(addressOf(kept(client()))).toBe(address);
});
