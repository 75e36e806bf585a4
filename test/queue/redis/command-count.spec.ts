// The guard of the speed: how many commands a plain job costs Redis. A number may rise only with a reason in its
// commit. When one has fallen permanently, lower the limit here.
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { EnqueueOptions } from '#queue/enqueue/enqueue-options.js';
import { JobQueue } from '#queue/job-queue.js';
import type { HandlerOptions } from '#worker/handlers/handler.js';
import { Worker } from '#worker/worker.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

const JOBS = 1_000;

/** Each job's share of the start and stop of a worker, and of two spare trips. A trip has about 22 commands. */
const START_AND_STOP = 0.13;

/** Commands of a test itself, or of a connection that opens. */
const NOT_OURS = /^(info|config|client|hello|select|ping|command|auth|readonly|quit|subscribe|script)(\||$)/;

const TIMERS = { setTimeout, setInterval };

let redis: Redis;

beforeAll(async () => {
  const server = await startOwnRedis();
  redis = connect({}, server.url);
});

/** Counts the calls of each command that an action costs, those inside of scripts too. */
async function commandsOf(action: () => Promise<unknown>): Promise<Map<string, number>> {
  await redis.config('RESETSTAT');
  await action();
  const stats = await redis.info('commandstats');
  const calls = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(
    ([, name, count]) => [name!, Number(count)] as const,
  );
  return new Map(calls.filter(([name]) => !NOT_OURS.test(name)));
}

/** Makes a queue whose scripts the server knows. */
async function warmQueue(): Promise<JobQueue> {
  const queue = new JobQueue(redis, uniqueQueueName());
  await queue.enqueue('warm');
  await queue.complete((await queue.claim())!, 'warm');
  return queue;
}

/** Returns the metadata of a job with a trace of its own. */
const traced = (i: number) => ({
  metadata: { traceparent: `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa${i}-01` },
});

/** Lets a worker run all jobs of a queue; counts from its first to its last. */
async function processed(
  queue: JobQueue,
  concurrency: number,
  options: HandlerOptions = {},
  prefetch = 0,
  optionsOf: (i: number) => EnqueueOptions = () => ({}),
): Promise<Map<string, number>> {
  const jobs = Array.from({ length: JOBS }, (_, i) => ({ payload: { to: 'ada@example.com', i }, ...optionsOf(i) }));
  await queue.enqueueMany(jobs);
  let left = JOBS;
  let done!: () => void;
  const all = new Promise<void>((resolve) => (done = resolve));
  const handle = () => {
    if (--left === 0) done();
  };
  const worker = new Worker(
    [{ queue, concurrency, prefetch, handlers: { [queue.name]: { ...options, handle } } }],
    {
      sweepIntervalMs: 0,
    },
  );
  muteUpkeep();
  return commandsOf(async () => {
    await worker.start();
    await all;
    await worker.stop();
  });
}

/** Keeps a worker from its heartbeats and the like, which a slow run has more of. The least interval is 5 s. */
function muteUpkeep(): void {
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const start: (task: () => void, ms?: number) => NodeJS.Timeout = TIMERS[name];
    const muted = (task: () => void, ms = 0) => start(ms < 5_000 ? task : () => undefined, ms);
    jest.spyOn(globalThis, name).mockImplementation(muted);
  }
}

function perJob(commands: Map<string, number>, jobs: number): number {
  return [...commands.values()].reduce((sum, count) => sum + count, 0) / jobs;
}

describe('a plain job costs Redis no more than it did', () => {
  it('enqueued alone: one round trip of 8 commands', async () => {
    const queue = await warmQueue();
    const commands = await commandsOf(async () => {
      for (let i = 0; i < 100; i++) {
        await queue.enqueue({ to: 'ada@example.com', i });
      }
    });
    expect(commands.get('evalsha')).toBe(100);
    expect(perJob(commands, 100)).toBeLessThanOrEqual(8);
  });

  it('enqueued among 1,000: a look for its id, its hash, and a share of two round trips', async () => {
    const queue = await warmQueue();
    const jobs = Array.from({ length: JOBS }, (_, i) => ({ payload: { to: 'ada@example.com', i } }));
    const commands = await commandsOf(() => queue.enqueueMany(jobs));
    expect(commands.get('evalsha')).toBe(2);
    expect(perJob(commands, JOBS)).toBeLessThanOrEqual(2.014);
  });

  it('enqueued beside 99 others in one tick: a share of three round trips', async () => {
    const queue = await warmQueue();
    const commands = await commandsOf(() =>
      Promise.all(Array.from({ length: 100 }, (_, i) => queue.enqueue({ to: 'ada@example.com', i }))),
    );
    expect(commands.get('evalsha')).toBe(3);
    expect(perJob(commands, 100)).toBeLessThanOrEqual(2.18);
  });

  it('enqueued one by one in one tick, each after another pause: one round trip more than all at once', async () => {
    const queue = await warmQueue();
    const afterPauses = async (i: number) => {
      for (let pauses = 0; pauses < i; pauses++) await Promise.resolve();
      await queue.enqueue({ to: 'ada@example.com', i });
    };
    const commands = await commandsOf(() => Promise.all(Array.from({ length: 20 }, (_, i) => afterPauses(i))));
    expect(commands.get('evalsha')).toBe(2);
  });

  // What a trip costs shows here, since each carries one job.
  it('processed one by one: a claim, a completion while the next runs, and 20 commands in both', async () => {
    const queue = await warmQueue();
    const pipelines = jest.spyOn(redis, 'pipeline');
    const commands = await processed(queue, 1);
    expect(pipelines.mock.calls.length).toBeLessThanOrEqual(10);
    expect(commands.get('evalsha')).toBeLessThanOrEqual(2 * JOBS + 20);
    expect(perJob(commands, JOBS)).toBeLessThanOrEqual(22 + START_AND_STOP);
  });

  it('prefetched: a start of its own, and a share of claims and completions that travel together', async () => {
    const queue = await warmQueue();
    const commands = await processed(queue, 1, {}, 9);
    expect(commands.get('hdel')).toBeLessThanOrEqual(JOBS);
    expect(commands.get('evalsha')).toBeLessThanOrEqual(2 * JOBS);
    expect(perJob(commands, JOBS)).toBeLessThanOrEqual(13);
  });

  // The cost of a job besides its trip shows here: HMGET and HSET of its claim. Then HMGET, HSET and PEXPIREAT of its
  // completion.
  it.each([
    [
      'prefetched for ten slots: one command more for its start, whose call it shares, and fewer trips',
      10,
      40,
      4,
      7.7,
    ],
    ['processed a hundred at a time: 5 commands, and a share of few round trips', 100, undefined, 10, 6],
  ])('%s', async (_, slots, prefetch, perTrip, most) => {
    const queue = await warmQueue();
    const commands = await processed(queue, slots, {}, prefetch);
    expect(commands.get('evalsha')).toBeLessThanOrEqual(JOBS / perTrip);
    const owned = ['hmget', 'hset', 'pexpireat'].map((name) => Math.floor(commands.get(name)! / JOBS));
    expect(owned).toEqual([2, 2, 1]);
    expect(perJob(commands, JOBS)).toBeLessThanOrEqual(most);
  });
});

describe('a job with metadata and no other option costs as many commands', () => {
  it('enqueued alone', async () => {
    const queue = await warmQueue();
    const commands = await commandsOf(async () => {
      for (let i = 0; i < 100; i++) {
        await queue.enqueue({ to: 'ada@example.com', i }, traced(i));
      }
    });
    expect(perJob(commands, 100)).toBeLessThanOrEqual(8);
  });

  it.each([
    ['their own', traced],
    ['the same', () => traced(0)],
  ])('enqueued among 1,000, each with %s', async (_, optionsOf) => {
    const queue = await warmQueue();
    const jobs = Array.from({ length: JOBS }, (__, i) => ({ payload: { i }, ...optionsOf(i) }));
    const commands = await commandsOf(() => queue.enqueueMany(jobs));
    expect(commands.get('evalsha')).toBe(2);
    expect(perJob(commands, JOBS)).toBeLessThanOrEqual(2.014);
  });

  it('enqueued beside 99 others in one tick, of which some have none', async () => {
    const queue = await warmQueue();
    const commands = await commandsOf(() =>
      Promise.all(Array.from({ length: 100 }, (_, i) => queue.enqueue({ i }, i % 2 === 0 ? traced(i) : undefined))),
    );
    expect(commands.get('evalsha')).toBe(3);
    expect(perJob(commands, 100)).toBeLessThanOrEqual(2.18);
  });

  it('processed one by one, prefetched, and a hundred at a time', async () => {
    const alone = await processed(await warmQueue(), 1, {}, 0, traced);
    expect(perJob(alone, JOBS)).toBeLessThanOrEqual(22 + START_AND_STOP);
    const prefetched = await processed(await warmQueue(), 1, {}, 9, traced);
    expect(perJob(prefetched, JOBS)).toBeLessThanOrEqual(13);
    const together = await processed(await warmQueue(), 100, {}, 0, traced);
    const owned = ['hmget', 'hset', 'pexpireat'].map((name) => Math.floor(together.get(name)! / JOBS));
    expect(owned).toEqual([2, 2, 1]);
    expect(perJob(together, JOBS)).toBeLessThanOrEqual(6);
  });
});

it('a job that is enqueued alone costs its process one timer', async () => {
  const queue = await warmQueue();
  const timers = jest.spyOn(globalThis, 'setTimeout');
  await queue.enqueue(1);
  expect(timers).toHaveBeenCalledTimes(1);
});
