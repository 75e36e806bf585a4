import type { Redis } from 'ioredis';
import { isCluster, streamOf, type RedisClient } from './redis-client.js';

/**
 * Has what the server answers read as soon as it is there. ioredis adds its reader by `prependListener` (redis/ioredis#1937),
 * which does not tell Node's stream that somebody listens: it sets each answer aside until the end of the tick, 6 to 7 % of
 * the latency of a job in an idle queue. A second listener, added by `on`, tells it. Not for connections that ioredis shows
 * nobody, such as that by which a client of a Cluster subscribes.
 */
export function enableFlowingReads(client: RedisClient): void {
  if (isCluster(client)) {
    client.nodes().forEach(listenWhenReady);
    client.on('+node', listenWhenReady);
  } else {
    listenWhenReady(client);
  }
}

/** Listens to each connection that the client makes, from when it is ready: the reader is there by then, and misses nothing. */
function listenWhenReady(client: Redis): void {
  const listen = () => void streamOf(client)?.on('data', ignore);
  if (client.status === 'ready') {
    listen();
  }
  client.on('ready', listen);
}

function ignore(): void {}
