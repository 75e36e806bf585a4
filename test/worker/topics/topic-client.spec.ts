// Topics without Nest: publications, subscriptions, and what a worker hands on.
import { afterEach, expect, it } from '@jest/globals';
import {
  defineTopic,
  type Job,
  JobQueue,
  type JobQueueMiddleware,
  type JobQueueOptions,
  NoSubscriptionError,
  TopicClient,
  Worker,
} from 'nest-job-queue/core';
import { z } from 'zod';
import { shardNames, shardOfKey } from '#queue/model/spread.js';
import { eventually } from '../../support/faults/wait.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { holdTimers } from '../../support/worker/held-timers.js';

const ends: (() => unknown)[] = [];
afterEach(() => Promise.all(ends.splice(0).map((end) => end())));

function newClient(options?: JobQueueOptions & { queues?: JobQueue[] }): TopicClient {
  const client = new TopicClient(connect(), options);
  ends.push(() => client.close());
  return client;
}

/** Returns a group of a shard of four. */
function groupIn(shard: number): string {
  for (let i = 0; ; i++) if (shardOfKey(`g${i}`, 4) === shard) return `g${i}`;
}

async function start(client: TopicClient): Promise<Worker> {
  const worker = new Worker(client.workerQueues());
  ends.push(() => worker.stop({ timeoutMs: 2_000 }));
  await worker.start();
  return worker;
}

it('gives each subscription a job, from a process that knows none of them, also while a subscriber is away', async () => {
  const Paid = defineTopic(uniqueQueueName(), { payload: z.object({ amount: z.number() }) });
  const got: string[] = [];
  const subscriber = newClient();
  subscriber.subscribe(Paid, 'receipts', (job) => void got.push(`receipts ${job.payload.amount}`));
  subscriber.subscribe(Paid, 'stock', (job) => void got.push(`stock ${job.payload.amount}`), { maxAttempts: 2 });
  await (await start(subscriber)).stop();

  const publisher = newClient();
  const { jobs } = await publisher.publish(Paid, { amount: 20 }, { id: 'paid-17' });
  const again = await publisher.publish(Paid, { amount: 20 }, { id: 'paid-17' });
  expect(jobs.map(({ queue }) => queue)).toEqual([`${Paid.name}/receipts`, `${Paid.name}/stock`]);
  expect(again.jobs.map(({ outcome }) => outcome)).toEqual(['existing', 'existing']);
  await expect(publisher.publish(Paid, { amount: 'much' } as never)).rejects.toThrow(/amount/);

  await start(subscriber);
  await Promise.all(jobs.map((job) => job.result()));
  expect(got.toSorted()).toEqual(['receipts 20', 'stock 20']);
});

it('publishes to the shards of a queue whose number only the register knows', async () => {
  const topic = uniqueQueueName();
  const job = `${topic}/stock`;
  const prefix = uniqueQueueName();
  const stock = new JobQueue(connect(), job, { prefix, maxAttempts: 7 });
  const [group, other] = [groupIn(3), groupIn(1)];
  const middleware: JobQueueMiddleware = {
    enqueue: (request, next) => {
      request.jobs.forEach(({ options }) => (options.group = group));
      return next();
    },
  };
  const [publisher, meddler] = [newClient({ queues: [stock] }), newClient({ prefix, middleware: [middleware] })];
  for (const each of ['queue', prefix]) {
    const register = new JobQueue(connect(), 'topic-publications', { prefix: each });
    await register.exec(({ topics }) =>
      topics.declare({ subscriptions: [{ topic, name: 'stock', queue: job, prefix, shards: 4 }] }),
    );
  }
  const { jobs } = await publisher.publish(topic, 1, { group });
  expect(jobs[0]!.queue).toBe(shardNames(job, 4)[3]);
  await expect(meddler.publish(topic, 1, { group: other })).rejects.toThrow(
    /^publish: expected middleware that sets no/,
  );
  await meddler.publish(topic, 1, { group });
});

it('hands on a publication by a worker, in the order of its group, and in the queue that a subscription names', async () => {
  const topic = uniqueQueueName();
  const got: unknown[] = [];
  const subscriber = newClient();
  const queue = uniqueQueueName();
  const note = ({ name, payload }: Job) => void got.push(`${name.slice(topic.length + 1)} ${String(payload)}`);
  subscriber.subscribe(topic, 'a', note, { queue, concurrency: 1 });
  subscriber.subscribe(topic, 'b', note, { queue });
  expect(subscriber.workerQueues().map((each) => [each.queue.name, each.concurrency])).toEqual([
    [queue, 1],
    [`topic-publications/${topic}`, undefined],
  ]);
  await start(subscriber);
  const publisher = newClient();
  for (const n of [1, 2, 3]) await publisher.publish(topic, n, { fanOut: 'worker', group: 'g' });
  await eventually(() => got.length === 6, { what: 'six jobs' });
  expect(got.filter((line) => String(line).startsWith('a'))).toEqual(['a 1', 'a 2', 'a 3']);
});

it('declares subscriptions without a worker', async () => {
  const topic = uniqueQueueName();
  const publisher = newClient();
  await expect(publisher.publish(topic, 1)).rejects.toThrow(NoSubscriptionError);
  const subscriber = newClient();
  subscriber.subscribe(topic, 'a', () => undefined);
  await subscriber.declare();
  expect((await publisher.publish(topic, 1)).jobs).toHaveLength(1);
});

it('lists the subscriptions of all programs, and removes one that no live worker handles', async () => {
  const prefix = uniqueQueueName('p');
  const [served, gone] = [newClient({ prefix }), newClient({ prefix })];
  served.subscribe('paid', 'receipts', () => undefined);
  gone.subscribe('paid', 'stock', () => undefined);
  await Promise.all([start(served), gone.declare()]);
  const other = newClient({ prefix });
  const listed = await other.list('paid');
  expect(listed.map(({ name, isHandled }) => [name, isHandled])).toEqual([
    ['receipts', true],
    ['stock', false],
  ]);
  expect(await other.remove('paid', 'stock')).toBe(true);
  expect(await other.remove('paid', 'stock')).toBe(false);
  await expect(other.remove('paid', 'receipts')).rejects.toThrow(/Deploy the app without it first/);
  expect((await other.list()).map(({ name }) => name)).toEqual(['receipts']);
});

it('declares them again without a worker, where Redis has lost them', async () => {
  const timers = holdTimers(120_000);
  const [topic, prefix] = [uniqueQueueName(), uniqueQueueName('p')];
  const subscriber = newClient({ prefix });
  subscriber.subscribe(topic, 'a', () => undefined);
  await subscriber.declare();
  await connect().del(`${prefix}:topics`);
  await timers.fire();
  const publisher = newClient({ prefix });
  await eventually(async () => (await publisher.publish(topic, 1, { ifNone: 'ignore' })).jobs.length === 1);
});

it('refuses a second subscription of a name, a bad name, and a queue whose publications would not be encrypted', () => {
  const topic = uniqueQueueName();
  const codec = { name: 'own', encode: JSON.stringify, decode: JSON.parse };
  const secret = new JobQueue(connect(), uniqueQueueName(), { codec } as never);
  const client = newClient({ queues: [secret] });
  expect(() => newClient({ queues: ['a'] as never })).toThrow(/a list of JobQueues/);
  client.subscribe(topic, 'a', () => undefined);
  expect(() => client.subscribe(topic, 'a', () => undefined)).toThrow(/one call for each subscription/);
  expect(() => client.subscribe(topic, 'no spaces', () => undefined)).toThrow(/subscribe.subscription/);
  expect(() => client.subscribe(topic, 'b', () => undefined, { queue: secret.name })).toThrow(/codec of queue/);
  expect(() => client.subscribe(topic, 'c', () => undefined, { maxAttempts: -1 })).toThrow(/maxAttempts/);
  const served = client.workerQueues().map(({ queue }) => queue.name);
  expect(served).toEqual([`${topic}/a`, `topic-publications/${topic}`]);
});
