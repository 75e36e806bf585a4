// What a job costs Redis must not depend on how many others are active, nor on who might listen.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { inside } from '../support/queue/inside.js';

const JOBS = 50;
let redis: Redis;
beforeAll(async () => {
  redis = connect({}, (await startOwnRedis()).url);
});

/** Counts how often the server ran each command for these jobs, inside of scripts too, claimed one by one. */
async function commandsFor(queue: JobQueue): Promise<Map<string, number>> {
  await queue.enqueueMany(Array.from({ length: JOBS }, (_, payload) => ({ payload })));
  await redis.config('RESETSTAT');
  for (let i = 0; i < JOBS; i++) {
    await queue.complete((await queue.claim())!, i);
  }
  const stats = await redis.info('commandstats');
  return new Map([...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name, n]) => [name!, Number(n)]));
}

async function warmQueue(): Promise<JobQueue> {
  const queue = new JobQueue(redis, uniqueQueueName());
  await commandsFor(queue);
  return queue;
}

describe('a job', () => {
  it('costs the same commands with 2,000 others active, none of which looks through them', async () => {
    const queue = await warmQueue();
    const alone = await commandsFor(queue);
    await queue.enqueueMany(Array.from({ length: 2_000 }, (_, payload) => ({ payload })));
    await Promise.all([queue.claimMany(1_000), queue.claimMany(1_000)]);
    expect((await queue.stats()).processing).toBe(2_000);
    expect(await commandsFor(queue)).toEqual(alone);
    expect([...alone.keys()].filter((name) => /^(l(rem|range|pos|index)|zrange|scan|keys)/.test(name))).toEqual([]);
  });

  it('that is active has its hash and no other key', async () => {
    const queue = await warmQueue();
    const { keys } = await inside(queue).scripts();
    const count = async () => (await redis.keys(`${keys.jobPrefix.slice(0, -'job:'.length)}*`)).length;
    await queue.enqueueMany(Array.from({ length: 10 }, (_, payload) => ({ payload })));
    await queue.claimMany(10);
    const ten = await count();
    await queue.enqueueMany(Array.from({ length: 100 }, (_, payload) => ({ payload })));
    await queue.claimMany(100);
    expect((await count()) - ten - 1).toBeLessThanOrEqual(100); // one more batch is kept for its repeat
  });

  it('publishes nothing without a subscriber', async () => {
    const commands = await commandsFor(await warmQueue());
    expect([commands.get('publish'), commands.get('xadd')]).toEqual([undefined, undefined]);
  });
});
