import type { JobQueue } from './job-queue.js';
import { InvalidOptionError } from './errors/errors.js';
import type { RedisClient } from './redis/redis-client.js';
import { isRedisStore, type RedisStore } from './redis-store.js';
import type { QueueCalls } from './scripts/all-calls.js';
import type { QueueKeys } from './scripts/queue-keys.js';

/** The names of the main keys of a queue. */
export interface QueueKeyNames {
  /** The start of the key of every job's hash, before the job's id. */
  readonly jobPrefix: string;
  /** The list of the jobs that can be claimed. */
  readonly pending: string;
  /** The sorted set of the claimable jobs with a priority above 0. */
  readonly prioritized: string;
  /** The sorted set of the jobs that wait for their time, by due time. */
  readonly scheduled: string;
  /** The sorted set of the claimed jobs, by the expiry of their claims. */
  readonly claims: string;
  /** The list of the claims of clients of the Redis pattern. */
  readonly processing: string;
  /** The list of the last completed jobs, newest first. */
  readonly completed: string;
  /** The list of the last failed jobs, newest first. */
  readonly failed: string;
  /** The list of the last cancelled jobs, newest first. */
  readonly cancelled: string;
  /** The sorted set of the dead letters, by the time of failure. */
  readonly dead: string;
  /** The hash of the owners of unique keys. */
  readonly unique: string;
  /** The hash of the counters. */
  readonly stats: string;
  /** The hash of the pause and the limits. */
  readonly settings: string;
  /** The sorted set whose marker wakes an idle worker. */
  readonly wake: string;
  /** The channel of the events. */
  readonly events: string;
  /** The stream of the audit trail. */
  readonly audit: string;
  /** Returns the key of a job's hash. */
  job(id: string): string;
}

/** The Redis behind a queue, for data beside the jobs. */
export interface RedisAccess {
  /** The client of the queue. Do not close it. */
  readonly client: RedisClient;
  /** The names of its keys. */
  readonly keys: QueueKeyNames;
  /** Asks within the time limit of a step of the queue. */
  ask<Reply>(question: () => Promise<Reply>): Promise<Reply>;
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
export function redisAccess(queue: JobQueue): Promise<RedisAccess> {
  return redisWithAllKeys(queue);
}

/** @internal The same with the names of all its keys. */
export async function redisWithAllKeys(queue: JobQueue): Promise<RedisAccess & { keys: QueueKeys }> {
  const store = redisStoreOf(queue);
  const { keys } = (await queue.calls()) as QueueCalls;
  return {
    client: store.connection.client,
    keys,
    ask: (question) => store.ask(queue.callLimit.timeoutMs, question),
  };
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
  if (!isRedisStore(store)) {
    throw new InvalidOptionError(`queue "${name}"`, 'a queue on Redis', 'one in memory');
  }
  return store;
}
