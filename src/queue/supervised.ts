import type { RedisClient } from './redis-client.js';

/** A server that is merely slow must not lose its connections: nothing is given less than this, in ms. */
export const SHORTEST_TRIP_MS = 1_000;

/**
 * Waits for an answer of the server. When none comes in time the connection is replaced: a half-open one would keep
 * silent for as long as the operating system believes in it, a quarter of an hour.
 */
export async function supervised<Answer>(
  client: RedisClient,
  limitMs: number,
  answer: Promise<Answer>,
): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      cut(client);
      reject(new Error(`no answer within ${limitMs} ms, the connection is replaced`));
    }, limitMs).unref();
  });
  try {
    return await Promise.race([answer, overdue]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Ends a connection that no longer answers, so that the client makes a new one. A polite end would wait for the other
 * side, which on a half-open connection never comes: the socket is destroyed.
 */
export function cut(client: RedisClient): void {
  if (client.isCluster) {
    client.disconnect(true);
  } else if (client.status === 'ready' || client.status === 'connect') {
    (client as { stream?: { destroy(): void } }).stream?.destroy();
  }
}
