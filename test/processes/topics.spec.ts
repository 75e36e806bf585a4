// Subscriptions of processes that are away, and publications whose publisher or worker is killed between two jobs.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { JobQueueService, OnTopic, type PublishOptions } from 'nest-job-queue';
import { JobQueue } from '#queue/job-queue.js';
import { startApp } from '../nest/app.js';
import { bundle } from '../support/bundle.mjs';
import { connect, testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';

// Processes are started, on a machine that also runs the other tests.
jest.setTimeout(90_000);

let program: string;
beforeAll(async () => {
  program = await bundle(join(import.meta.dirname, 'apps/topics.ts'), '.cache/programs/topics.mjs');
}, 60_000);

const children = new Set<ChildProcess>();
afterEach(() => children.forEach((child) => child.kill('SIGKILL')));

/** Starts the app, and returns a function that waits for its next line of a type. */
function start(topic: string, plan: object) {
  const given = JSON.stringify({ redis: testRedisUrl(), topic, ...plan });
  const child = spawn(process.execPath, [program, given], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (type: string) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`the process ended before ${type}`);
      const line = JSON.parse(value) as { type: string; detail: unknown };
      if (line.type === type) return line.detail;
    }
  };
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { next, kill };
}

/** Subscribes twice to a topic, in an app that then ends. */
async function subscribeAndLeave(topic: string): Promise<void> {
  class Subscriber {
    @OnTopic(topic, { subscription: 'a' })
    @OnTopic(topic, { subscription: 'b' })
    note(): void {}
  }
  const app = await startApp({ providers: [Subscriber] });
  await app.close();
}

/** Publishes from an app of this process. Returns the outcomes of its jobs. */
async function publish(topic: string, id: string, options: PublishOptions = {}): Promise<unknown[]> {
  const app = await startApp({});
  const { jobs } = await app.get(JobQueueService).publish(topic, id, { id, ...options });
  return jobs.map(({ outcome }) => outcome);
}

it('a subscription whose process is away gets its jobs, and ends when somebody says so', async () => {
  const topic = uniqueQueueName();
  await subscribeAndLeave(topic);
  expect(await publish(topic, 'one')).toEqual(['new', 'new']);

  const subscriber = start(topic, { subscribes: true });
  expect([await subscriber.next('ran'), await subscriber.next('ran')].map(String).toSorted()).toEqual([
    `${topic}/a one`,
    `${topic}/b one`,
  ]);
  const { topics } = new JobQueue(connect(), 'any');
  await expect(topics.remove(topic, 'b')).rejects.toThrow('a worker of queue');
  await subscriber.kill();
  await connect().zincrby(`queue:${topic}/b:names`, -60_000, `${topic}/b`); // as time does
  expect(await topics.remove(topic, 'b')).toBe(true);
  expect(await publish(topic, 'two')).toEqual(['new']);
});

it('a publisher is killed between two jobs, and the next one adds what is missing', async () => {
  const topic = uniqueQueueName();
  await subscribeAndLeave(topic);

  const dying = start(topic, { publishes: 'one', holdsB: true });
  expect(await dying.next('added')).toBe(`one:${topic}/a`);
  await dying.kill();
  const of = (name: string) => new JobQueue(connect(), `${topic}/${name}`).stats();
  expect([(await of('a')).pending, (await of('b')).pending]).toEqual([1, 0]);

  expect(await publish(topic, 'one')).toEqual(['existing', 'new']);
  expect([(await of('a')).pending, (await of('b')).pending]).toEqual([1, 1]);
});

it('a worker that hands a publication on is killed between two jobs, and another one adds what is missing', async () => {
  const topic = uniqueQueueName();
  const dying = start(topic, { subscribes: true, holdsB: true });
  await dying.next('ready');
  await publish(topic, 'one', { fanOut: 'worker' });
  expect(await dying.next('added')).toBe(`one:${topic}/a`);
  await dying.kill();

  const heir = start(topic, { subscribes: true });
  const ran = [await heir.next('ran')];
  if (ran[0] !== `${topic}/b one`) ran.push(await heir.next('ran'));
  expect(ran).toContain(`${topic}/b one`);
  const totals = async (name: string) => (await new JobQueue(connect(), `${topic}/${name}`).stats()).totals;
  expect([(await totals('a')).enqueued, (await totals('b')).enqueued]).toEqual([1, 1]);
});
