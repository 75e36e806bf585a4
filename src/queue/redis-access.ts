import type { JobQueue } from './job-queue.js';
import { InvalidOptionError } from './errors/errors.js';
import type { RedisClient } from './redis/redis-client.js';
import { RedisStore } from './redis-store.js';
import type { QueueCalls } from './scripts/calls/queue-calls.js';
import type { QueueKeys } from './scripts/queue-keys.js';

/** The Redis behind a queue, for data beside the jobs. */
export interface RedisAccess {
  /** The client of the queue. Do not close it. */
  readonly client: RedisClient;
  /** The names of its keys. */
  readonly keys: QueueKeys;
  /** Asks within the time limit of a step of the queue. */
  ask<Answer>(question: () => Promise<Answer>): Promise<Answer>;
}

/**
 * Returns the Redis of a queue with the names of its keys, for an app's own data beside its jobs. The scripts own their
 * keys: read them, but do not write them.
 *
 * @throws InvalidOptionError for a queue that is not on Redis
 * @example
 * const { client, keys } = await redisAccess(queue);
 * await client.zscore(keys.claims, job.id); // when the claim expires
 */
export async function redisAccess(queue: JobQueue): Promise<RedisAccess> {
  const { connection } = redisStoreOf(queue);
  const { keys } = (await queue.calls()) as QueueCalls;
  return { client: connection.client, keys, ask: (question) => connection.answer(queue.limit.timeoutMs, question) };
}

/**
 * Returns the client of a queue, also while Redis is away.
 *
 * @throws InvalidOptionError for a queue that is not on Redis
 */
export function redisClientOf(queue: JobQueue): RedisClient {
  return redisStoreOf(queue).connection.client;
}

function redisStoreOf({ name, store }: JobQueue): RedisStore {
  if (!(store instanceof RedisStore)) {
    throw new InvalidOptionError(`queue "${name}"`, 'a queue on Redis', 'one in memory');
  }
  return store;
}
