// What a server can, and not its number, says whether it is used. A number of Redis 7.0 or later is taken at its word.
import { describe, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { JobQueue } from '#queue/job-queue.js';
import { Connection, missingAbilities } from '#queue/redis/connection.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

/** Returns a client whose server says that it is Redis 6.2, as some compatible services do. */
async function older(redis: Redis, mode = 'standalone'): Promise<Redis> {
  await redis.ping(); // ioredis itself asks for INFO before
  jest.spyOn(redis, 'info').mockResolvedValue(`# Server\r\nredis_version:6.2.0\r\nredis_mode:${mode}\r\n`);
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

const facts = async (redis: Redis) => Connection.of(await older(redis, 'cluster')).inspect();

it('finds out whether a Cluster with a lower number has sharded channels, and connects without', async () => {
  const server = await startOwnRedis({ args: ['--rename-command', 'SPUBLISH', ''] });
  expect(await facts(connect())).toMatchObject({ hasShardedChannels: true });
  expect(await facts(connect({}, server.url))).toMatchObject({ hasShardedChannels: false });
});

/** The first lines of INFO of other products, as they tell them. */
const OTHERS = {
  Garnet: 'garnet_version:1.0.84\r\nredis_version:7.4.3',
  Dragonfly: 'redis_version:7.4.0\r\ndragonfly_version:df-v1.34.2',
  Kvrocks: 'version:2.13.0\r\nkvrocks_version:2.13.0\r\nredis_version:7.0.0',
  'an older Kvrocks': 'version:2.5.0\r\nredis_version:7.0.0',
};

/** Returns a client whose server tells this of itself. */
async function telling(redis: Redis, told: string): Promise<Redis> {
  await redis.ping(); // ioredis itself asks for INFO before
  jest.spyOn(redis, 'info').mockResolvedValue(`# Server\r\n${told}\r\nredis_mode:standalone\r\n`);
  return redis;
}

describe.each(Object.entries(OTHERS))('%s', (_, told) => {
  it('is refused if its scripts have no flags, although its number is high enough', async () => {
    const redis = await telling(connect(), told);
    const evaluate = redis.eval.bind(redis) as (...all: unknown[]) => Promise<unknown>;
    jest.spyOn(redis, 'eval').mockImplementation((script, ...rest) => {
      const isFlagged = String(script).startsWith('#!');
      return isFlagged ? Promise.reject(new Error("ERR unexpected symbol near '#'")) : evaluate(script, ...rest);
    });
    await expect(Connection.of(redis).inspect()).rejects.toThrow(/\d \(as Redis 7\..*\) lacks.*flags of scripts/);
  });

  it('is refused without a blocking command', async () => {
    const server = await startOwnRedis({ args: ['--rename-command', 'BZPOPMIN', ''] });
    const redis = await telling(connect({}, server.url), told);
    await expect(Connection.of(redis).inspect()).rejects.toThrow(/lacks what scripts need: BZPOPMIN\./);
  });

  it('is used if it has all', async () => {
    const queue = new JobQueue(await telling(connect(), told), uniqueQueueName());
    await queue.enqueue({});
    expect((await queue.stats()).pending).toBe(1);
  });
});

it.each([
  ['the oldest Redis that is supported', 'redis_version:7.0.0\r\ngcc_version:12.2.0'],
  ['Redis', 'redis_version:7.4.3\r\ngcc_version:12.2.0'],
  ['Valkey', 'redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\ngcc_version:12.2.0'],
  ['Redict', 'redis_version:7.2.4\r\nredict_version:7.3.6\r\ngcc_version:12.2.0'],
])('asks %s for nothing but INFO', async (_, told) => {
  const redis = await telling(connect(), told);
  const sent = jest.spyOn(redis, 'sendCommand');
  await Connection.of(redis).inspect();
  const names = sent.mock.calls.map(([{ name }]) => name);
  expect(names.filter((name) => name !== 'select')).toEqual([]); // the tests have a database of their own
});

it('lets a user poll who may not wait', async () => {
  const redis = connect();
  const name = uniqueQueueName();
  await redis.call('ACL', 'SETUSER', name, 'on', '>secret', '~*', '&*', '+@all', '-bzpopmin');
  const app = await telling(connect({ username: name, password: 'secret' }), OTHERS.Garnet);
  expect(await missingAbilities(app, `${name}:probe`)).toEqual([]);
  await redis.call('ACL', 'DELUSER', name);
});
