import { once } from 'node:events';
import { describe, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { Connection } from '#queue/redis/connection.js';
import { RedisUnsuitableError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { retryUntilAnswered, withResponseTimeout } from '#queue/redis/response-timeout.js';
import { coreQueue, openedQueue } from '../../support/queue/core-queue.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { eventually, sleep } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { readsAtOnce } from '../../support/redis/flowing-reads.js';
import { keysLike } from '../../support/redis/redis-reads.js';
import { inside } from '../../support/queue/inside.js';
import { sealed } from '../../support/queue/unsealed.js';

describe('the client that is handed in', () => {
  it('with a keyPrefix is refused, and the error names the remedy', () => {
    const client = connect({ keyPrefix: 'app:' });
    expect(() => new JobQueue(client, 'jobs')).toThrow(RedisUnsuitableError);
    expect(() => new JobQueue(client, 'jobs')).toThrow(
      'has keyPrefix "app:", which scripts and events cannot see: expected a client without one. ' +
        'Give the queue the option prefix instead.',
    );
  });

  it('is never closed by the queue', async () => {
    const client = connect();
    const { queue } = coreQueue({}, client);
    await queue.claim({ timeoutMs: 20 });
    queue.close();
    expect(await client.ping()).toBe('PONG');
  });

  it('keeps its commands as they are', async () => {
    const client = connect();
    const functions = () =>
      Object.entries(client).flatMap(([name, value]) => (typeof value === 'function' ? name : []));
    const before = functions();
    const { queue } = coreQueue({}, client);
    await queue.enqueue(1);
    expect(functions()).toEqual(before);
  });

  it('for a database that Redis refuses is refused, and nothing goes to database 0', async () => {
    const server = await startOwnRedis();
    const redis = connect({}, server.url);
    const absent = connect({ db: 99 }, server.url);
    absent.on('error', () => undefined); // ioredis reports the refused SELECT, and goes on
    const { queue } = coreQueue({}, absent);
    await expect(queue.stats()).rejects.toThrow(
      /^Redis has no database 99 \(ERR DB index is out of range\): expected/,
    );
    await expect(queue.enqueue(1)).rejects.toMatchObject({ outcome: 'not-sent' });
    await redis.acl('SETUSER', 'app', 'on', '>word', '~*', '&*', '+@all', '-select');
    const denied = connect({ db: 1, username: 'app', password: 'word' }, server.url);
    denied.on('error', () => undefined);
    await expect(coreQueue({}, denied).queue.stats()).rejects.toMatchObject({ missing: ['the command select'] });
    expect(await redis.dbsize()).toBe(0);
  });

  it('may use another database', async () => {
    const inOwn = connect();
    const another = new URL(testRedisUrl());
    another.pathname = inOwn.options.db === 3 ? '/4' : '/3';
    const { queue } = coreQueue({}, connect({}, another.href));
    const waiting = queue.claim({ timeoutMs: 15_000 });
    await queue.enqueue('elsewhere');
    expect((await waiting)!.payload).toBe('elsewhere');
    expect(await keysLike(inOwn, `queue:${queue.name}:*`)).toEqual([]);
    await queue.purge({ confirm: queue.name });
  });

  it.each([
    { replyType: 'string' },
    { enableAutoPipelining: true },
    { commandTimeout: 5_000 },
    { stringNumbers: true },
  ])('may have the option %j', async (options) => {
    const { queue } = coreQueue({}, connect(options));
    const handle = await queue.enqueue({ a: 1 }, { priority: 2 });
    const job = (await queue.claim())!;
    expect(job).toMatchObject({ id: handle.id, attempt: 1, payload: { a: 1 } });
    expect(await queue.extend(job)).toBe('extended');
    expect(await queue.complete(job, 1)).toBe(true);
    expect(await queue.complete({ ...job, token: 'stale', fence: job.fence + 1 }, 1)).toBe(false);
    expect(await handle.result()).toBe(1);
    expect(await queue.stats()).toMatchObject({ completed: 1, pending: 0 });
    expect(await queue.list('completed')).toHaveLength(1);
  });
});

describe('an answer', () => {
  it.each([
    ['is connected', false],
    ['connects later', true],
  ])('is read as soon as it is there, by a client that %s', async (_, lazyConnect) => {
    const client = connect({ lazyConnect });
    if (!lazyConnect) await client.ping();
    Connection.of(client);
    await client.ping();
    expect(await readsAtOnce(client)).toBe(true);
  });

  it('is so on each connection of a client, and on those that are made here', async () => {
    const client = connect();
    const made = Connection.of(client).duplicate('events') as Redis;
    for (const each of [client, made]) {
      await each.ping();
      each.disconnect(true);
      await once(each, 'ready');
      expect(await readsAtOnce(each)).toBe(true);
    }
    made.disconnect();
  });
});

it('the errors of a connection that is made here are logged once each, also the second of a socket, to which ioredis listens once', async () => {
  const connection = Connection.of(connect());
  const warnings: string[] = [];
  connection.logger = { log: () => {}, warn: (line) => void warnings.push(line), error: () => {} };
  const made = connection.duplicate('events') as Redis;
  await once(made, 'ready');
  made.emit('error', new Error('of no socket'));
  const { stream } = made;
  for (const text of ['first', 'second']) stream.emit('error', new Error(text));
  made.disconnect();
  expect(warnings).toEqual(['of no socket', 'first', 'second'].map((text) => `Redis connection (events): ${text}`));
});

it('an error that repeats is logged once, and once a minute', async () => {
  const connection = Connection.of(connect());
  const warnings: string[] = [];
  connection.logger = { log: () => {}, warn: (line) => void warnings.push(line), error: () => {} };
  const now = jest.spyOn(performance, 'now');
  // A hub makes a new connection for each attempt.
  for (const atMs of [0, 1_000, 59_000, 61_000]) {
    const made = connection.duplicate('wakes') as Redis;
    await once(made, 'ready');
    now.mockReturnValue(1e9 + atMs);
    made.emit('error', new Error('refused'));
    now.mockReset();
    made.disconnect();
  }
  expect(warnings).toHaveLength(2);
});

describe('an answer that does not come in time', () => {
  it('has its connection replaced, and not the one that was made meanwhile', async () => {
    const proxy = await FaultProxy.start();
    const client = connect({ retryStrategy: () => 10 }, proxy.url);
    client.on('error', () => undefined);
    const never = new Promise<void>(() => undefined);
    await client.ping();
    await expect(withResponseTimeout(client, 50, never)).rejects.toThrow(
      'no answer within 50 ms; the connection is replaced',
    );
    await client.ping();
    expect(proxy.connections.made).toBe(2);
    const late = withResponseTimeout(client, 300, never).catch((error: Error) => error);
    proxy.cut();
    await client.ping();
    expect(proxy.connections.made).toBe(3);
    await expect(late).resolves.toThrow('no answer');
    await client.ping();
    expect(proxy.connections.made).toBe(3);
  });

  it.each<[string, (client: Redis) => Promise<string>]>([
    ['asked for again', (client) => retryUntilAnswered(client, client.ping(), 50)],
    ['waited for', (client) => withResponseTimeout(client, 50, client.ping())],
  ])(
    'costs no connection if the process itself was held up, and the answer is there to be read: %s',
    async (_, ask) => {
      const client = connect();
      await client.ping();
      const closed = jest.fn();
      client.on('close', closed);
      const asked = ask(client);
      for (const end = performance.now() + 200; performance.now() < end;); // as after SIGSTOP
      expect(await asked).toBe('PONG');
      await sleep(150); // a silence that nobody waits for any more
      expect(closed).not.toHaveBeenCalled();
    },
  );

  it('is an error without a reason where the connection has told none', async () => {
    const proxy = await FaultProxy.start();
    proxy.pause();
    const client = connect({}, proxy.url);
    client.on('error', () => undefined);
    const { store } = inside(openedQueue(client, uniqueQueueName()));
    await expect(store.ask(50, () => client.ping())).rejects.toThrow(
      /^Redis gave no answer within 50 ms; the connection is replaced\.$/,
    );
  });
});

describe('the spelling of the keys', () => {
  it('is that of the Redis documentation', async () => {
    const { queue, state } = coreQueue();
    await queue.enqueue(1, { id: 'a' });
    const keys = await keysLike(state.redis, `*${queue.name}*`);
    expect(keys.toSorted()).toEqual(
      ['job:a', 'pending', 'stats', 'wake'].map((key) => `queue:${queue.name}:${key}`),
    );
  });

  it('takes a prefix, and braces for a Cluster', async () => {
    const { queue, state } = coreQueue({ prefix: 'app.q', hashTag: true });
    await queue.enqueue(1, { id: 'a' });
    expect(await state.redis.exists(`app.q:{${queue.name}}:job:a`)).toBe(1);
    expect((await queue.claim())!.id).toBe('a');
  });

  it('has braces by itself where the server is a node of a Cluster', async () => {
    const server = await startOwnRedis({ args: ['--cluster-enabled', 'yes'] });
    const redis = connect({}, server.url);
    await redis.cluster('ADDSLOTSRANGE', 0, 16_383);
    await eventually(async () => String(await redis.cluster('INFO')).includes('cluster_state:ok'));
    const queue = new JobQueue(redis, 'jobs');
    expect((await inside(queue).scripts()).keys.pending).toBe('queue:{jobs}:pending');
    const plain = new JobQueue(redis, 'jobs', { hashTag: false });
    expect((await inside(plain).scripts()).keys.pending).toBe('queue:jobs:pending');
  });
});

describe('the server', () => {
  it('may forget all scripts at any time', async () => {
    const server = await startOwnRedis();
    const redis = connect({}, server.url);
    const queue = new JobQueue(redis, 'jobs');
    await queue.enqueue(1);
    await redis.script('FLUSH');
    const handles = await Promise.all([queue.enqueue(2), queue.enqueue(3)]);
    await redis.script('FLUSH');
    const jobs = await queue.claimMany(5);
    expect(jobs.map((job) => job.payload)).toEqual([1, 2, 3]);
    await redis.script('FLUSH');
    const scripts = await inside(queue).scripts();
    const [done, claimed] = await inside(queue).runner.runTogether([
      scripts.complete([{ ...jobs[1]!, result: sealed('1') }]),
      scripts.claim({ count: 1, token: 't', worker: 'w', stream: '0' }),
    ]);
    expect(done).toEqual({ ok: true, reply: { lost: [], followed: [] } });
    expect(claimed).toMatchObject({ ok: true, reply: { jobs: [] } });
    expect(await handles[0].result()).toBe(1);
    queue.close();
  });

  it('one call of several that fails does not stop the others', async () => {
    const { queue } = coreQueue();
    const scripts = await inside(queue).scripts();
    const broken = { ...scripts.stats(), args: ['x'] };
    const [failed, pending] = await inside(queue).runner.runTogether([
      broken,
      scripts.list({ status: 'pending', offset: 0, limit: 1 }),
    ]);
    expect(failed).toMatchObject({ ok: false, error: expect.any(Error) });
    expect(pending).toEqual({ ok: true, reply: [] });
  });
});

it.each([-3_600_000, 3_600_000])('I5: a client whose clock is an hour off changes nothing (%i ms)', async (off) => {
  const { queue, state } = coreQueue();
  const real = Date.now.bind(Date);
  const before = await state.now();
  jest.spyOn(Date, 'now').mockImplementation(() => real() + off);
  await queue.enqueue(['later'], { id: 'later', delayMs: 60_000 });
  await queue.enqueue(['now'], { id: 'now' });
  const job = (await queue.claim())!;
  await queue.extend(job);
  const expiry = Number(await state.redis.zscore(state.keys.claims, 'now'));
  const due = Number(await state.redis.zscore(state.keys.scheduled, 'later'));
  await queue.fail(job, new Error('no'), { delayMs: 30_000 });
  const retry = Number(await state.redis.zscore(state.keys.scheduled, 'now'));
  const after = await state.now();
  expect((await queue.reclaim()).reclaimed).toEqual([]);
  expect(await queue.claim()).toBeNull();
  for (const [time, delay] of [
    [expiry, 30_000],
    [due, 60_000],
    [retry, 30_000],
    [job.claimedAtMs, 0],
  ] as const) {
    expect(time).toBeGreaterThanOrEqual(before + delay);
    expect(time).toBeLessThanOrEqual(after + delay);
  }
});

it('two queues of one name in two databases or prefixes do not meet', async () => {
  const name = uniqueQueueName();
  const client = connect();
  const one = new JobQueue(client, name);
  const two = new JobQueue(client, name, { prefix: 'other' });
  await one.enqueue(1);
  expect(await two.claim()).toBeNull();
  expect((await one.claim())!.payload).toBe(1);
});
