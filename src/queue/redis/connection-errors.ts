import type { Redis } from 'ioredis';
import { isCluster, type RedisClient } from './redis-client.js';

type Forward = (error: Error) => void;

/**
 * Forwards the errors of a new client, including those after the first of a socket. If a certificate is refused, a TLS
 * alert may arrive after Node has abandoned the socket. The client listens to each socket only once
 * (redis/ioredis#961), and an unhandled error ends the process. Connections that ioredis does not expose are left out.
 * ioredis uses them to discover a Cluster's slots or Sentinel's master.
 */
export function forwardErrors(client: RedisClient, forward: Forward): void {
  client.on('error', forward);
  if (isCluster(client)) {
    client.on('+node', (node: Redis) => forwardLateErrors(node, forward));
  } else {
    forwardLateErrors(client, forward);
  }
}

/** Forwards errors after the first, which ioredis emits itself. */
function forwardLateErrors(client: Redis, forward: Forward): void {
  let watched: unknown;
  let known: Error | undefined;
  client.on('error', (error: Error) => {
    known = error;
    const stream = client.stream as Redis['stream'] | undefined; // absent before the first attempt to connect
    if (stream && stream !== watched) {
      watched = stream;
      stream.on('error', (late) => late !== known && forward(late));
    }
  });
}

/** Returns an error's text, because an error of a connection to several addresses has an empty message. */
export function errorText(error: Error): string {
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}
