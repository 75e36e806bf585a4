// The first enqueue of a process names its script by the digest. A server that knows the script gets no text.
import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';

async function bytesReceived(redis: Redis): Promise<number> {
  return Number(/total_net_input_bytes:(\d+)/.exec(await redis.info('stats'))![1]);
}

it('sends less than a kilobyte, where the server knows the script', async () => {
  const server = await startOwnRedis();
  const admin = connect({}, server.url);
  await new JobQueue(admin, 'before').enqueue({});
  const redis = connect({}, server.url);
  await redis.ping();
  const before = await bytesReceived(admin);
  await new JobQueue(redis, 'mail').enqueue({ to: 'ada@example.com' });
  expect((await bytesReceived(admin)) - before).toBeLessThan(1_000);
});
