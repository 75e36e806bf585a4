import type { JobQueue } from './job-queue.js';
import { InvalidOptionError } from './model/errors.js';
import type { RedisClient } from './redis/redis-client.js';
import { RedisStore } from './redis-store.js';
import type { QueueCalls } from './scripts/queue-calls.js';
import type { QueueKeys } from './scripts/queue-keys.js';

/** The Redis behind a queue, for what is kept there beside the jobs. */
export interface RedisAccess {
  readonly client: RedisClient;
  readonly keys: QueueKeys;
  /** Asks within the time that a step of the queue has. */
  ask<Answer>(question: () => Promise<Answer>): Promise<Answer>;
}

/** @throws InvalidOptionError for a queue that is not on Redis */
export async function redisAccess(queue: JobQueue): Promise<RedisAccess> {
  const { store, limit } = queue;
  if (!(store instanceof RedisStore)) {
    throw new InvalidOptionError(`queue "${queue.name}"`, 'a queue on Redis', 'one in memory');
  }
  const { connection } = store;
  const { keys } = (await queue.calls()) as QueueCalls;
  return { client: connection.client, keys, ask: (question) => connection.answer(limit.timeoutMs, question) };
}
