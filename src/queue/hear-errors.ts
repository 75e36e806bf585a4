import type { Redis } from 'ioredis';
import { isCluster, type RedisClient } from './redis-client.js';

type Hear = (error: Error) => void;

/**
 * Hears all errors of a client, also a second one of the same socket: where a certificate is refused, an alert of the server
 * may come between Node's giving the socket up and its end. ioredis listens to each socket once (redis/ioredis#961), and an
 * error that nobody hears ends the process.
 */
export function hearErrors(client: RedisClient, hear: Hear): void {
  client.on('error', hear);
  if (isCluster(client)) {
    client.nodes('all').forEach((node) => hearLateErrors(node, hear));
    client.on('+node', (node: Redis) => hearLateErrors(node, hear));
  } else {
    hearLateErrors(client, hear);
  }
}

/** From the first error on, which ioredis tells while it comes. */
function hearLateErrors(client: Redis, hear: Hear): void {
  let heard: unknown;
  client.on('error', () => {
    const stream = client.stream as Redis['stream'] | undefined; // absent before the first attempt to connect
    if (stream && stream !== heard) {
      heard = stream;
      stream.on('error', hear);
    }
  });
}
