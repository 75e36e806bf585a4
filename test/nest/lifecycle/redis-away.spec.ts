import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { JobQueueService, RedisUnsuitableError } from 'nest-job-queue';
import { RedisConnection } from '#nest/connection/server-connection.js';
import { freePort } from '../../../scripts/redis/redis-server.mjs';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, handlerOf, KeptLog, startApp } from '../app.js';
import { gate } from '../../support/faults/wait.js';

const printed: string[] = [];
beforeEach(() => {
  printed.length = 0;
  for (const stream of [process.stdout, process.stderr]) {
    jest.spyOn(stream, 'write').mockImplementation((text) => Boolean(printed.push(String(text))));
  }
  for (const method of ['log', 'warn', 'error', 'info', 'debug'] as const) {
    jest.spyOn(console, method).mockImplementation((...args) => void printed.push(args.join(' ')));
  }
});
afterEach(() => {
  jest.restoreAllMocks();
  expect(printed).toEqual([]);
});

async function redisUrlWithoutServer() {
  const port = await freePort();
  return { port, url: `redis://127.0.0.1:${port}` };
}

describe('without Redis at boot', () => {
  it('the app starts, says so, refuses to enqueue in time, and closes at once', async () => {
    const { url, port } = await redisUrlWithoutServer();
    const log = new KeptLog();
    const name = uniqueQueueName();
    const app = await startApp({ jobs: { redis: url, enqueueTimeoutMs: 200 }, providers: [handlerOf(name)], log });
    expect(log.lines).toContain(
      `warn Could not connect to Redis at 127.0.0.1:${port} (connect ECONNREFUSED 127.0.0.1:${port}). ` +
        'The app starts without it, and runs jobs once Redis is reachable. ' +
        'Start Redis, or set `redis` or REDIS_URL to where it is.',
    );
    const jobs = app.get(JobQueueService);
    await expect(jobs.enqueue(name, null)).rejects.toMatchObject({
      name: 'EnqueueError',
      outcome: 'not-sent',
      message: expect.stringContaining(`no answer within 200 ms (connect ECONNREFUSED 127.0.0.1:${port}).`),
    });
    // All at once, because each waits for a second.
    await Promise.all([
      expect(jobs.get(name, 'x')).rejects.toThrow(RedisUnsuitableError),
      expect(jobs.queue(name).clean('completed')).rejects.toThrow(RedisUnsuitableError),
      expect(jobs.queue(name).deadLetters.redriveAll()).rejects.toThrow(RedisUnsuitableError),
      expect(jobs.queue(name).stats()).rejects.toThrow(`did not answer within 1000 ms (connect ECONNREFUSED`),
    ]);
    const started = performance.now();
    await app.close();
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  it('workers and sweeps come by themselves when it is there', async () => {
    const { url, port } = await redisUrlWithoutServer();
    const name = uniqueQueueName();
    const serves = gate();
    const log = new KeptLog();
    log.log = (message) => String(message).includes(`serves ${name} ×10`) && serves.open();
    const app = await startApp({ jobs: { redis: url }, providers: [handlerOf(name)], log });
    const server = await startOwnRedis({ port });
    await serves.promise;
    const job = await app.get(JobQueueService).enqueue(name, null);
    expect(await job.result()).toBe('done');
    await app.close();
    await server.stop();
  });

  it('the boot fails within the stated time, if it is required', async () => {
    const { url, port } = await redisUrlWithoutServer();
    const app = await compileApp({ jobs: { redis: url, requireRedis: { timeoutMs: 300 } } });
    const started = performance.now();
    const booting = app.init();
    await expect(booting).rejects.toThrow(RedisUnsuitableError);
    await expect(booting).rejects.toThrow(
      `Could not connect to Redis at 127.0.0.1:${port} within 300 ms: connect ECONNREFUSED 127.0.0.1:${port}. ` +
        'Start Redis, or set `redis` or REDIS_URL to where it is.',
    );
    expect(performance.now() - started).toBeLessThan(3_000);
  });

  it('the boot says what to do where TLS meets a port without it, and the other way round', async () => {
    const server = await startOwnRedis();
    const requireRedis = { timeoutMs: 1_000 };
    const tls = await compileApp({ jobs: { redis: server.url.replace('redis:', 'rediss:'), requireRedis } });
    await expect(tls.init()).rejects.toThrow('If this port does not speak TLS, its address begins with redis://.');
    await server.stop();
    // A server of TLS ends a connection without it.
    const cuts = createServer((socket) => socket.on('error', () => undefined).resetAndDestroy());
    await new Promise<void>((resolve) => void cuts.listen(0, '127.0.0.1', resolve));
    const { port } = cuts.address() as AddressInfo;
    const plain = await compileApp({ jobs: { redis: `redis://127.0.0.1:${port}`, requireRedis } });
    await expect(plain.init()).rejects.toThrow('If this port speaks only TLS, its address begins with rediss://.');
    await new Promise((resolve) => cuts.close(resolve));
  });

  it('the boot names the remedy for a replica', async () => {
    const master = await startOwnRedis();
    const replica = await startOwnRedis();
    const client = connect({}, replica.url);
    await client.replicaof('127.0.0.1', new URL(master.url).port);
    client.disconnect();
    const app = await compileApp({
      jobs: { redis: replica.url, requireRedis: { timeoutMs: 2_000 } },
      providers: [handlerOf(uniqueQueueName())],
    });
    await expect(app.init()).rejects.toThrow(/READONLY .* replica\. Connect to the master, or by Sentinel\.$/);
    await Promise.all([replica.stop(), master.stop()]);
  });

  it('the boot waits for a Redis that is required and comes in time', async () => {
    const { url, port } = await redisUrlWithoutServer();
    const name = uniqueQueueName();
    const booting = startApp({ jobs: { redis: url, requireRedis: true }, providers: [handlerOf(name)] });
    const server = await startOwnRedis({ port });
    const app = await booting;
    expect(await (await app.get(JobQueueService).enqueue(name, null)).result()).toBe('done');
    await app.close();
    await server.stop();
  });
});

describe('when Redis goes away', () => {
  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'by %s, an app closes within its deadline, and logs little',
    async (signal) => {
      const server = await startOwnRedis();
      const name = uniqueQueueName();
      const log = new KeptLog();
      const app = await startApp({
        jobs: { redis: server.url, shutdownTimeoutMs: 600 },
        providers: [handlerOf(name)],
        log,
      });
      await (await app.get(JobQueueService).enqueue(name, null)).result();
      await server.kill(signal);
      const started = performance.now();
      await app.close();
      expect(performance.now() - started).toBeLessThan(2_400);
      expect(log.lines.length).toBeLessThan(20);
      if (signal === 'SIGSTOP') await server.kill('SIGCONT');
      await server.stop();
    },
  );

  it('its jobs continue when it is back', async () => {
    const server = await startOwnRedis();
    const name = uniqueQueueName();
    const log = new KeptLog();
    const app = await startApp({ jobs: { redis: server.url }, providers: [handlerOf(name)], log });
    const jobs = app.get(JobQueueService);
    await (await jobs.enqueue(name, null)).result();
    expect(log.lines.join()).not.toContain('back after');
    await server.restart();
    expect(await (await jobs.enqueue(name, null)).result()).toBe('done');
    expect(log.lines).toContainEqual(expect.stringMatching(/^log Redis connection: back after [\d.]+ s$/));
    await app.close();
    await server.stop();
  });
});

it('an error of the connection is said by the logger, the same one once', async () => {
  const server = await startOwnRedis({ args: ['--requirepass', 'secret'] });
  const log = new KeptLog();
  const app = await startApp({ jobs: { redis: server.url }, log });
  const errors = log.lines.filter((line) => line.includes('Redis connection: NOAUTH'));
  expect(errors).toHaveLength(1);
  await app.close();
  await server.stop();
});

it('a wrong password is named, with the option to set', async () => {
  const server = await startOwnRedis({ args: ['--requirepass', 'secret'] });
  const url = server.url.replace('//', '//:wrong@');
  const app = await compileApp({ jobs: { redis: url, requireRedis: { timeoutMs: 500 } } });
  await expect(app.init()).rejects.toThrow(
    /^Could not connect to Redis at .* within 500 ms: WRONGPASS .*\. Set the right user and password in `redis` or REDIS_URL\.$/,
  );
  await server.stop();
});

it('forgets the error of a handed-in client once it is connected', async () => {
  const { port, url } = await redisUrlWithoutServer();
  const client = connect({}, url);
  const connection = new RedisConnection(client, new KeptLog());
  expect(await connection.reach(2_000)).toBe(false);
  expect(connection.trouble).toContain('ECONNREFUSED');
  client.on('error', () => undefined); // it tries again while the server starts
  const server = await startOwnRedis({ port });
  expect(await connection.reach(10_000, false)).toBe(true);
  expect(connection.connection.trouble).toBeUndefined();
  client.disconnect();
  await server.stop();
});

it('a handed-in client that the app closed too early does not hold up its end', async () => {
  const client = connect();
  const name = uniqueQueueName();
  const app = await startApp({ jobs: { redis: client, shutdownTimeoutMs: 500 }, providers: [handlerOf(name)] });
  client.disconnect();
  const started = performance.now();
  await app.close();
  expect(performance.now() - started).toBeLessThan(2_400);
});

it.each([{ requireRedis: false }, { requireRedis: { timeoutMs: 20_000 } }] as const)(
  'a client that was closed before the boot is named, and not Redis (%j)',
  async (options) => {
    const client = connect();
    await client.ping();
    client.disconnect();
    await once(client, 'end');
    await expect(startApp({ jobs: { redis: client, ...options } })).rejects.toThrow(
      'was closed before the app started. Hand in an open client, and close it after the app.',
    );
  },
);

it('a retryStrategy that ends the attempts is named, at once', async () => {
  const { port } = await redisUrlWithoutServer();
  const redis = { host: '127.0.0.1', port, retryStrategy: () => null };
  const jobs = { redis, requireRedis: { timeoutMs: 30_000 } };
  await expect(startApp({ jobs })).rejects.toThrow(
    /has ended: .*ECONNREFUSED.*\. The retryStrategy of `redis` returned no delay\. Leave it out/,
  );
});
