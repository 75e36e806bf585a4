// A Redis for one file of integration tests: a prefix on a shared server, or a server of its own.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JobQueue } from 'nest-job-queue/core';
import { TestingError, withRedis } from 'nest-job-queue/testing';
import { connect, testRedisUrl } from '../../support/redis/redis.js';
import { findRedisServer } from '../../../scripts/redis/redis-server.mjs';

const before = { ...process.env };
let folder: string;

/** Writes an executable shell script. Returns its path. */
function program(name: string, ...lines: string[]): string {
  const file = join(folder, name);
  writeFileSync(file, ['#!/bin/sh', ...lines].join('\n'));
  chmodSync(file, 0o755);
  return file;
}

/** The server of the tests under the name that a machine has it by. */
beforeAll(async () => {
  const { server, env } = await findRedisServer();
  folder = mkdtempSync(join(tmpdir(), 'with-redis-'));
  const variables = Object.entries(env).map(([name, value]) => `export ${name}='${value}'`);
  program('redis-server', ...variables, `exec '${server}' "$@"`);
});

afterAll(() => rmSync(folder, { recursive: true }));

beforeEach(() => {
  delete process.env.REDIS_URL;
  delete process.env.REDIS_SERVER_BIN;
});

afterEach(() => {
  process.env = { ...before };
});

it('uses the server of REDIS_URL by a prefix of its own, and deletes the keys that it made', async () => {
  process.env.REDIS_URL = testRedisUrl();
  const client = connect();
  const [one, other] = await Promise.all([withRedis(), withRedis()]);
  expect(one.prefix).not.toBe(other.prefix);
  for (const { prefix } of [one, other]) {
    const queue = new JobQueue(client, 'email', { prefix });
    await queue.enqueueMany(Array.from({ length: 3 }, (_, n) => ({ payload: n })));
    queue.close();
  }
  await one.close();
  expect(await client.keys(`${one.prefix}*`)).toEqual([]);
  expect(await client.llen(`${other.prefix}:email:pending`)).toBe(3);
  await other.close();
});

it('starts a server of its own where there is no REDIS_URL, and ends it with the function', async () => {
  process.env.REDIS_SERVER_BIN = join(folder, 'redis-server');
  const urls = await Promise.all(
    [1, 2].map(() =>
      withRedis(async ({ url, options }) => {
        expect(options.redis).toBe(url);
        const client = connect({}, url);
        const queue = new JobQueue(client, 'email', { prefix: options.prefix });
        await queue.enqueue({});
        expect(await queue.stats()).toMatchObject({ pending: 1 });
        queue.close();
        client.disconnect();
        return url;
      }),
    ),
  );
  expect(new Set(urls).size).toBe(2);
  for (const url of urls) {
    const late = connect({ lazyConnect: true, retryStrategy: () => null }, url);
    late.on('error', () => undefined);
    await expect(late.connect()).rejects.toThrow();
  }
});

it('finds the binary on the PATH, and names the remedy where there is none', async () => {
  process.env.PATH = folder;
  await withRedis(async ({ url }) => expect(url).toMatch(/^redis:/));
  process.env.PATH = '/nowhere';
  await expect(withRedis()).rejects.toThrow(TestingError);
  await expect(withRedis()).rejects.toThrow('Start a Redis and set REDIS_URL, or install one.');
});

it.each([
  [
    'the last line of its output',
    ["printf 'starting\\nreading the options\\nunknown option\\n'"],
    'unknown option',
  ],
  ['that it ended, if it said nothing', [], 'it ended at once'],
])('says of a server that does not start %s', async (_, lines, reason) => {
  process.env.REDIS_SERVER_BIN = program('broken-server', ...lines, 'exit 1');
  const error = await withRedis().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TestingError);
  expect((error as Error).message).toBe(`withRedis could not start ${join(folder, 'broken-server')}: ${reason}`);
});
