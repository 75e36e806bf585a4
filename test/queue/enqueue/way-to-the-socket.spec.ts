// The way of a plain enqueue to the socket: how many files it passes, and that it returns to none.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { executedSources, startCounting, stopCounting } from '../../support/sources/executed-sources.mjs';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const client = connect();
const queue = new JobQueue(client, uniqueQueueName());
const { sendCommand } = client;

beforeAll(async () => {
  await queue.enqueue({ to: 'ada' }); // opens the queue, and teaches the server the script
  await startCounting();
});

afterAll(stopCounting);

/** Returns the sources of the current stack, from the outermost call. Calls within one source count once. */
function sourcesOfStack(): string[] {
  const frames = new Error().stack!.matchAll(/file:\/\/\S*\/src\/[^:)]+/g);
  const sources = [...frames].map(([url]) => relative(root, fileURLToPath(url))).toReversed();
  return sources.filter((source, at) => source !== sources[at - 1]);
}

it('a plain enqueue passes at most 12 files', async () => {
  let passed: Promise<string[]> | undefined;
  client.sendCommand = (...args) => {
    passed ??= executedSources();
    return sendCommand.apply(client, args);
  };
  await executedSources();
  await queue.enqueue({ to: 'ada' });
  const files = await passed;
  expect(files).toContain('src/queue/job-queue.ts');
  expect(files).toContain('src/queue/transport/script-runner.ts');
  expect(files!.length).toBeLessThanOrEqual(12);
});

it('a plain enqueue enters no file twice', async () => {
  const ways: string[][] = [];
  client.sendCommand = (...args) => {
    ways.push(sourcesOfStack());
    return sendCommand.apply(client, args);
  };
  const payload = { toJSON: () => (ways.push(sourcesOfStack()), {}) };
  await queue.enqueue(payload);
  const [toTheCheck, toTheSocket] = [ways[0]!, ways.at(-1)!];
  expect(toTheCheck).toEqual(expect.arrayContaining(['src/queue/job-queue.ts', 'src/queue/enqueue/producer.ts']));
  expect(toTheSocket).toContain('src/queue/enqueue/enqueue-batcher.ts');
  for (const way of [toTheCheck, toTheSocket]) {
    expect(way).toEqual([...new Set(way)]);
  }
});
