// The Redis of the test run, connections that close after the test, and unused queue names.
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, expect } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';

const open = new Set<Redis>();

/** The server in memory of this test file, where it takes the place of Redis. */
const memory =
  process.env.TEST_REDIS === 'memory' ? (await import('../memory/resp-server.js')).startRespServer() : undefined;

afterAll(async () => {
  await closeConnections();
  if (!process.env.TEST_IS_PART) memory?.requireScriptOf(expect.getState().testPath ?? '');
  memory?.close();
});

/** Closes all clients that were made here; jest does so itself. */
export async function closeConnections(): Promise<void> {
  await Promise.all([...open].map(close));
  open.clear();
}

/**
 * Returns the URL of the server that the whole run shares: never flush or stop it. On a server that the run started,
 * each test file has its own database. A scan reads all keys of one database.
 */
export function testRedisUrl(): string {
  if (memory) return memory.url;
  const { TEST_REDIS_URL: url, TEST_REDIS_DATABASES: databases } = process.env;
  if (!url) throw new Error('TEST_REDIS_URL is not set: start the tests by `npm test`');
  return databases ? `${url}/${databaseOf(expect.getState().testPath ?? '', Number(databases))}` : url;
}

function databaseOf(file: string, databases: number): number {
  return createHash('sha1').update(file).digest().readUInt32BE() % databases;
}

/** Connects to the shared server or `url`. Closes the client and its duplicates after the test file. */
export function connect(options: RedisOptions = {}, url: string = testRedisUrl()): Redis {
  return closed(new Redis(url, { disconnectTimeout: 100, ...options }));
}

/** Closes the client after the test file, with the duplicates that queues and workers make of it. */
function closed(client: Redis): Redis {
  open.add(client);
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => closed(duplicate(override));
  return client;
}

/** Returns a queue name that no other test, file or run uses. */
export function uniqueQueueName(prefix = 'test'): string {
  return `${prefix}-${randomUUID().slice(0, 13)}`;
}

/** Closes a client and waits until its socket is gone. */
function close(client: Redis): Promise<void> {
  // A second end would leave a timer of ioredis, which delays the end of the process.
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
