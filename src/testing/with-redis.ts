import { spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Redis } from 'ioredis';
import { randomId } from '../queue/runtime/clock.js';
import { TestingError } from './module/test-clock.js';

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

const SERVER_NAMES = ['redis-server', 'valkey-server'];

/** The number of times another port is tried after a parallel test took the free one. */
const PORT_TRIES = 5;

/** The time a server may take to be ready, in ms. */
const READY_MS = 10_000;

/**
 * Starts a Redis on a free port, which keeps nothing on disk.
 *
 * @throws TestingError without a binary, or if it does not start
 */
async function startServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const binary = findBinary();
  let problem = '';
  for (let i = 0; i < PORT_TRIES; i++) {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'nest-job-queue-redis-'));
    const server = spawn(binary, argumentsFor(port, folder), { stdio: ['ignore', 'pipe', 'pipe'] });
    const end = () => void server.kill('SIGKILL');
    process.once('exit', end); // a test process that ends leaves no server behind
    const stop = async () => {
      process.off('exit', end);
      await stopped(server);
      rmSync(folder, { recursive: true, force: true });
    };
    problem = await ready(server);
    if (problem === '') {
      return { url: `redis://127.0.0.1:${port}`, stop };
    }
    await stop();
  }
  throw new TestingError(`withRedis could not start ${binary}: ${problem}`);
}

function argumentsFor(port: number, folder: string): string[] {
  return ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
}

function findBinary(): string {
  const given = process.env.REDIS_SERVER_BIN;
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const candidates = given ? [given] : folders.flatMap((folder) => SERVER_NAMES.map((name) => join(folder, name)));
  const found = candidates.find(isExecutable);
  if (found === undefined) {
    throw new TestingError(
      'withRedis found no Redis: expected REDIS_URL, REDIS_SERVER_BIN, or redis-server or valkey-server on the PATH. ' +
        'Start a Redis and set REDIS_URL, or install one.',
    );
  }
  return found;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** Resolves with '' when the server accepts connections, else with its output. */
function ready(server: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let said = '';
    const done = (problem: string) => {
      clearTimeout(late);
      server.stdout!.removeAllListeners('data').resume();
      server.stderr!.removeAllListeners('data').resume();
      resolve(problem);
    };
    const late = setTimeout(() => done(`it was not ready within ${READY_MS} ms`), READY_MS);
    const onOutput = (chunk: Buffer) => {
      said += chunk.toString();
      if (/ready to accept connections/i.test(said)) {
        done('');
      }
    };
    server.stdout!.on('data', onOutput);
    server.stderr!.on('data', onOutput);
    server.once('error', (error) => done(error.message));
    // Its last output may be read after its exit.
    server.once('close', () => done(said.trim().split('\n').at(-1) || 'it ended at once'));
  });
}

function stopped(server: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (server.exitCode !== null || server.signalCode !== null || server.pid === undefined) {
      return resolve();
    }
    server.once('exit', () => resolve());
    server.kill('SIGTERM');
  });
}
