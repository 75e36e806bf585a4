// A server is judged by what it can, and not by its number, if that is below 7.0.
import { expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { missingAbilities } from '#queue/redis/connection.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

/** Returns a client whose server says that it is Redis 6.2, as some compatible services do. */
async function older(redis: Redis): Promise<Redis> {
  await redis.ping(); // ioredis itself asks for INFO before
  jest.spyOn(redis, 'info').mockResolvedValue('# Server\r\nredis_version:6.2.0\r\nredis_mode:standalone\r\n');
  return redis;
}

it('finds nothing missing, and writes nothing', async () => {
  const redis = connect();
  const key = `${uniqueQueueName()}:probe`;
  expect(await missingAbilities(redis, key)).toEqual([]);
  expect(await redis.exists(key)).toBe(0);
});

it('connects to a server with a lower number that can all it needs', async () => {
  const queue = new JobQueue(await older(connect()), uniqueQueueName());
  await queue.enqueue({});
  expect((await queue.stats()).pending).toBe(1);
});

it('names the missing ability, and connects all the same by an override', async () => {
  const server = await startOwnRedis();
  const admin = connect({}, server.url);
  await admin.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-zmscore');
  const client = () => older(connect({ username: 'app', password: 'secret' }, server.url));
  const refused = new JobQueue(await client(), uniqueQueueName());
  await expect(refused.enqueue({})).rejects.toThrow(/ZMSCORE.*NEST_JOB_QUEUE_ANY_SERVER/s);
  process.env.NEST_JOB_QUEUE_ANY_SERVER = '1';
  try {
    await expect(new JobQueue(await client(), uniqueQueueName()).enqueue({})).resolves.toBeDefined();
  } finally {
    delete process.env.NEST_JOB_QUEUE_ANY_SERVER;
  }
});
