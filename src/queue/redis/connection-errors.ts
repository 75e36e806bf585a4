import type { Redis } from 'ioredis';
import { isCluster, type RedisClient } from './redis-client.js';

type Hear = (error: Error) => void;

/**
 * Hears the errors of a client that was just made, and of the same socket those after the first: where a certificate is
 * refused, an alert of the server may come between Node's giving the socket up and its end. ioredis listens to each socket
 * once (redis/ioredis#961), and an error that nobody hears ends the process. Not of connections that ioredis shows nobody:
 * those by which it asks a Cluster for its slots, and sentinels for the master.
 */
export function forwardErrors(client: RedisClient, hear: Hear): void {
  client.on('error', hear);
  if (isCluster(client)) {
    client.on('+node', (node: Redis) => hearLateErrors(node, hear));
  } else {
    hearLateErrors(client, hear);
  }
}

/** From the first error on, which ioredis tells while it comes; what it tells is not heard twice. */
function hearLateErrors(client: Redis, hear: Hear): void {
  let heard: unknown;
  let told: Error | undefined;
  client.on('error', (error: Error) => {
    told = error;
    const stream = client.stream as Redis['stream'] | undefined; // absent before the first attempt to connect
    if (stream && stream !== heard) {
      heard = stream;
      stream.on('error', (late) => late !== told && hear(late));
    }
  });
}
