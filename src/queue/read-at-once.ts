import type { Redis } from 'ioredis';
import { isCluster, streamOf, type RedisClient } from './redis-client.js';

/**
 * Has what the server answers read as soon as it is there. ioredis puts its reader in front of all others
 * (redis/ioredis#1937), and so put it is not known to Node as one that listens: each answer is put by, and fetched at the
 * end of the tick, which is a fifteenth of the latency of a job. A second listener, put the usual way, makes it known.
 */
export function readAtOnce(client: RedisClient): void {
  if (isCluster(client)) {
    client.nodes().forEach(listenToEach);
    client.on('+node', listenToEach);
  } else {
    listenToEach(client);
  }
}

/** Listens to each connection of the client from when it is ready: by then the reader is there, and nothing goes past it. */
function listenToEach(client: Redis): void {
  const listen = () => void streamOf(client)?.on('data', ignore);
  if (client.status === 'ready') {
    listen();
  }
  client.on('ready', listen);
}

function ignore(): void {}
