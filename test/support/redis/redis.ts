// The Redis of the test run, connections to it that close by themselves, and queue names that nobody else uses.
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, expect } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';

const open = new Set<Redis>();

afterAll(closeConnections);

/** Closes all that were made here; jest does so by itself. */
export async function closeConnections(): Promise<void> {
  await Promise.all([...open].map(close));
  open.clear();
}

/**
 * The URL of the server that the whole run shares: never flush it, never stop it. On a server of the run's own each test file
 * has a database of its own, because a scan passes over all keys of a database.
 */
export function testRedisUrl(): string {
  const { TEST_REDIS_URL: url, TEST_REDIS_DATABASES: databases } = process.env;
  if (!url) throw new Error('TEST_REDIS_URL is not set: start the tests by `npm test`');
  return databases ? `${url}/${databaseOf(expect.getState().testPath ?? '', Number(databases))}` : url;
}

function databaseOf(file: string, databases: number): number {
  return createHash('sha1').update(file).digest().readUInt32BE() % databases;
}

/** A client of the shared server, or of `url`, that is closed after the test file. */
export function connect(options: RedisOptions = {}, url: string = testRedisUrl()): Redis {
  const client = new Redis(url, options);
  open.add(client);
  return client;
}

/** A queue name that no other test, file or run uses. */
export function uniqueQueueName(prefix = 'test'): string {
  return `${prefix}-${randomUUID().slice(0, 13)}`;
}

/** Closes a client for good and waits until its socket is gone. */
function close(client: Redis): Promise<void> {
  // To end it once more would leave ioredis a timer, which holds up the end of the process.
  if (client.status === 'end') return Promise.resolve();
  if (client.status === 'reconnecting') {
    client.disconnect(); // between two attempts there is no socket, and nothing announces the end
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    client.once('end', () => resolve());
    client.disconnect();
  });
}
