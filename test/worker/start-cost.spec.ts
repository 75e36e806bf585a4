// A start of many queues, and a server that has forgotten its scripts: each text is sent once.
import { beforeAll, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { luaScripts } from '#queue/lua.generated.js';
import { JobQueue } from '#queue/job-queue.js';
import { Worker } from '#worker/worker.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { startOwnRedis, type OwnRedis } from '../support/redis/own-redis.js';

const QUEUES = 60;

let server: OwnRedis;
let redis: Redis;
let admin: Redis;
let queues: JobQueue[];

beforeAll(async () => {
  server = await startOwnRedis();
  redis = connect({}, server.url);
  admin = connect({}, server.url);
  queues = Array.from({ length: QUEUES }, () => new JobQueue(redis, uniqueQueueName()));
  await redis.ping();
});

/** Returns how often commands ran since the last reset. */
async function calls(command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}

function bytesSent(): number {
  return redis.stream.bytesWritten;
}

it('a worker of many queues sends the text of each script once, and checks permissions for several queues a call', async () => {
  const handlers = { job: () => undefined };
  const worker = new Worker(queues.map((queue) => ({ queue, handlers })));
  await admin.config('RESETSTAT');
  const before = bytesSent();

  await worker.start();

  expect(await calls('eval')).toBeLessThan(15);
  // Announcement, details, schedules and one claim for each queue, each sent twice at the most.
  expect(await calls('evalsha')).toBeLessThan(QUEUES * 8);
  const texts = Object.values(luaScripts).reduce((sum, text) => sum + text.length, 0);
  expect(bytesSent() - before).toBeLessThan(QUEUES * 10_000 + texts);
  await worker.stop();
});

it('after SCRIPT FLUSH the calls of all queues send the text once', async () => {
  await Promise.all(queues.map((queue) => queue.stats()));
  await admin.script('FLUSH');
  await admin.config('RESETSTAT');
  const before = bytesSent();
  await Promise.all(queues.map((queue) => queue.stats()));
  expect(await calls('eval')).toBe(1);
  const known = bytesSent() - before;

  await Promise.all(queues.map((queue) => queue.stats()));
  const again = bytesSent() - before - known;
  expect(known - 2 * again).toBeLessThan(2 * luaScripts.queueStats.length);
});

it('a call that waits for the text of another is not harmed by its failure', async () => {
  const [first, second] = queues as [JobQueue, JobQueue];
  await first.enqueue('a');
  const { keys } = (await first.calls()) as unknown as { keys: { claims: string } };
  await admin.del(keys.claims);
  await admin.set(keys.claims, 'text');
  await admin.script('FLUSH');
  const [broken, fine] = await Promise.allSettled([first.stats(), second.stats()]);
  expect([broken.status, fine.status]).toEqual(['rejected', 'fulfilled']);
});
