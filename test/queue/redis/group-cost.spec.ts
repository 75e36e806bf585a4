// What a claim of a grouped job costs Redis, however many groups there are, ready or blocked.
import { beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

let redis: Redis;

beforeAll(async () => {
  redis = connect({}, (await startOwnRedis()).url);
});

/** Counts the commands of ten claims and completions. As many jobs are left afterwards. */
async function commandsOfTen(queue: JobQueue): Promise<number> {
  await redis.config('RESETSTAT');
  for (let i = 0; i < 10; i++) {
    await queue.complete((await queue.claim())!);
  }
  const stats = await redis.info('commandstats');
  const ours = /^cmdstat_(z|h|l|r|s|e|p|i)\w*:calls=(\d+)/gm;
  return [...stats.matchAll(ours)].reduce((sum, [, , calls]) => sum + Number(calls), 0);
}

async function withGroups(count: number, blocked: boolean): Promise<number> {
  const queue = new JobQueue(redis, uniqueQueueName());
  if (blocked) {
    await queue.limits.set({ groups: { maxRunning: 1 } });
  }
  const jobs = Array.from({ length: count }, (_, i) => [
    { payload: i, group: `group-${i}` },
    { payload: i, group: `group-${i}` },
  ]).flat();
  await queue.enqueueMany(jobs);
  if (blocked) {
    await queue.claimMany(count);
    await queue.enqueueMany(Array.from({ length: 20 }, () => ({ payload: 0, group: 'free' })));
    await queue.groups.set('free', { maxRunning: 5 });
  }
  await queue.complete((await queue.claim())!);
  const commands = await commandsOfTen(queue);
  queue.close();
  return commands;
}

it.each([
  ['all ready', false],
  ['all but one blocked', true],
])('a claim costs the same at 10 and at 900 groups, %s', async (_, blocked) => {
  const [few, many] = [await withGroups(15, blocked), await withGroups(900, blocked)];
  expect(many).toBeLessThanOrEqual(few * 1.1);
});
