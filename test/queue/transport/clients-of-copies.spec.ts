/** @jest-environment ./test/support/own-environment.mjs */

// Sends scripts by a command of its own, or by the method of a client of another ioredis copy.
import { afterEach, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { failure } from '../../support/faults/failure.js';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { inside } from '../../support/queue/inside.js';

const foreign: Redis[] = [];

afterEach(() => {
  foreign.splice(0).forEach((client) => client.disconnect());
});

/** Connects a client of a second copy of the package, as an application with two versions has. */
async function connectForeign(): Promise<Redis> {
  let client!: Redis;
  await jest.isolateModulesAsync(async () => {
    const ioredis = await import('ioredis');
    client = new ioredis.Redis(testRedisUrl());
  });
  expect(client).not.toBeInstanceOf(Redis);
  foreign.push(client);
  return client;
}

/** Runs one job through all of its scripts, with multi-byte characters, numbers, and an empty field. */
async function passJob(client: Redis): Promise<void> {
  const queue = new JobQueue(client, uniqueQueueName());
  const payload = { to: 'Ærøskøbing 🐟', n: 7, none: '' };
  const { id } = await queue.enqueue(payload, { priority: 3 });
  const job = await queue.claim();
  expect(job).toMatchObject({ id, payload, attempt: 1 });
  expect(await queue.complete(job!, payload)).toBe(true);
  expect(await queue.get(id)).toMatchObject({ status: 'completed', result: payload });
}

it('calls scripts by commands of its own on a client of the same copy of ioredis', async () => {
  const client = connect();
  const evalsha = jest.spyOn(client, 'evalsha');
  await passJob(client);
  expect(evalsha).not.toHaveBeenCalled();
});

it('calls them by the method of a client of another copy', async () => {
  const client = await connectForeign();
  const evalsha = jest.spyOn(client, 'evalsha');
  await passJob(client);
  expect(evalsha).toHaveBeenCalled();
});

it('sends them at once where the client collects commands for a pipeline', async () => {
  const client = connect({ enableAutoPipelining: true });
  const queue = new JobQueue(client, uniqueQueueName());
  await inside(queue).scripts();
  const pipeline = jest.spyOn(client, 'pipeline');
  await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
  expect(pipeline).not.toHaveBeenCalled();
});

it('shows where a call was made that fails, to a client that asks for it', async () => {
  const client = connect({ showFriendlyErrorStack: true });
  const { queue, state } = coreQueue({}, client);
  state.broken = true;
  await queue.stats(); // once by its text, where the server does not know it
  await client.set(state.keys.claims, 'no sorted set');
  const { cause } = await failure<Error>(() => queue.stats()); // the error of the call, before its key was named
  expect((cause as Error).stack).toContain('clients-of-copies.spec');
});
