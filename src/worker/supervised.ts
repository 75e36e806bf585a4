import type { JobQueue } from '../queue/job-queue.js';
import type { RedisClient } from '../queue/redis-client.js';
import type { ScriptCall } from '../queue/script-runner.js';

/** How long an answer may take, in ms, before its connection is taken for dead and replaced. */
export const LONGEST_TRIP_MS = 10_000;

/** A server that is merely slow must not lose its connections: nothing is given less than this, in ms. */
const SHORTEST_TRIP_MS = 1_000;

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
 * Runs one script on the queue's own client, supervised.
 *
 * @param intervalMs how often this is done: an answer must be there before the next time
 */
export function runSupervised<Answer>(
  queue: JobQueue,
  call: ScriptCall<Answer>,
  intervalMs: number,
): Promise<Answer> {
  const limitMs = Math.min(LONGEST_TRIP_MS, Math.max(SHORTEST_TRIP_MS, intervalMs));
  return supervised(queue.connection.client, limitMs, queue.runner.run(call));
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
