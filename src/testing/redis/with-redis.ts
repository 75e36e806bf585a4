import { Redis } from 'ioredis';
import { randomId } from '../../queue/runtime/clock.js';
import { startServer } from './start-server.js';

/** A Redis for one test file. */
export interface TestRedis {
  /** The URL of the server. */
  readonly url: string;
  /** The prefix of all keys of this file, which no other uses. */
  readonly prefix: string;
  /** Options for `JobQueueModule.forRoot`: `JobQueueModule.forRoot({ ...redis.options, maxAttempts: 3 })`. */
  readonly options: { redis: string; prefix: string };
  /** Deletes the keys of this file, or stops the server that was started for it. Close the app before. */
  close(): Promise<void>;
}

/**
 * Provides a real Redis for an integration test. With `REDIS_URL` it uses that server with a random prefix. Otherwise
 * it starts a server, from `REDIS_SERVER_BIN`, or `redis-server` or `valkey-server` on the PATH. Test files can run in
 * parallel.
 *
 * @throws TestingError if there is none of these; RedisUnsuitableError if the server of `REDIS_URL` does not reply
 * @example
 * const redis = await withRedis();
 * afterAll(() => redis.close());
 */
export async function withRedis(): Promise<TestRedis>;
/**
 * Does the same around a function, and closes when that ends.
 *
 * @example await withRedis(async ({ options }) => { … });
 */
export async function withRedis<Result>(run: (redis: TestRedis) => Promise<Result>): Promise<Result>;
export async function withRedis<Result>(run?: (redis: TestRedis) => Promise<Result>): Promise<TestRedis | Result> {
  const redis = await open();
  if (!run) {
    return redis;
  }
  try {
    return await run(redis);
  } finally {
    await redis.close();
  }
}

async function open(): Promise<TestRedis> {
  const prefix = `test-${randomId()}`;
  const shared = process.env.REDIS_URL;
  if (shared) {
    return { url: shared, prefix, options: { redis: shared, prefix }, close: () => deleteKeys(shared, prefix) };
  }
  const { url, stop } = await startServer();
  return { url, prefix, options: { redis: url, prefix }, close: stop };
}

/** Deletes in slices, so that a shared server is not blocked. */
async function deleteKeys(url: string, prefix: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1 });
  client.on('error', () => undefined); // the call that meets it rejects
  try {
    let cursor = '0';
    do {
      const [next, keys] = await client.scan(cursor, 'MATCH', `${prefix}:*`, 'COUNT', 1_000);
      if (keys.length > 0) {
        await client.unlink(...keys);
      }
      cursor = next;
    } while (cursor !== '0');
  } finally {
    client.disconnect();
  }
}
