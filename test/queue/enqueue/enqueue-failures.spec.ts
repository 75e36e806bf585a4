import { describe, expect, it, jest } from '@jest/globals';
import { RedisOutOfMemoryError, RedisUnsuitableError } from '#queue/errors/errors.js';
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { connect } from '../../support/redis/redis.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { keysLike } from '../../support/redis/redis-reads.js';
import { startFakeRedis } from '../../support/redis/fake-redis.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { inside } from '../../support/queue/inside.js';

/** Makes a client of a server that may be away, without error logs. */
function unreliable(url: string, options = {}) {
  const client = connect({ retryStrategy: () => 20, maxRetriesPerRequest: null, ...options }, url);
  client.on('error', () => undefined);
  return client;
}

async function failure(action: Promise<unknown>): Promise<unknown> {
  return action.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
}

it('a burst of enqueues does not fail, and loses no connection, where the tick of it continues for longer than an answer may take', async () => {
  const redis = connect();
  const { queue } = coreQueue({ enqueueTimeoutMs: 1_000 }, redis);
  await queue.enqueue(0);
  let ends = 0;
  redis.on('close', () => ends++);
  const burst = Array.from({ length: 30 }, (_, i) => queue.enqueue(i));
  const until = performance.now() + 1_500;
  while (performance.now() < until);
  expect(await Promise.all(burst)).toHaveLength(30);
  expect(ends).toBe(0);
});

describe('an enqueue that fails', () => {
  it('was not sent where a server accepts and never answers', async () => {
    const silent = await startFakeRedis(() => null);
    const { queue } = coreQueue({ enqueueTimeoutMs: 100 }, unreliable(silent.url));
    const error = await failure(queue.enqueue(1, { id: 'a' }));
    expect(error).toBeInstanceOf(EnqueueError);
    expect(error).toMatchObject({ outcome: 'not-sent', jobIds: ['a'], queue: queue.name });
    expect((error as Error).message).toContain('Nothing was written.');
  });

  it('says where Redis was looked for, of one job and of many, without the password', async () => {
    const client = unreliable('redis://user:secret@127.0.0.1:1/3');
    const { queue } = coreQueue({ enqueueTimeoutMs: 100 }, client);
    const message = expect.stringMatching(
      /^Enqueue to ".*" failed: Redis at 127\.0\.0\.1:1\/3: no answer within 100 ms\. /,
    );
    const failures = [await failure(queue.enqueue(1)), await failure(queue.enqueueMany([{ payload: 2 }]))];
    expect(failures).toEqual([expect.objectContaining({ message }), expect.objectContaining({ message })]);
    expect(JSON.stringify(failures) + failures.map(String).join('')).not.toContain('secret');
  });

  it('was not sent where the client was closed', async () => {
    const client = connect();
    const { queue } = coreQueue({ enqueueTimeoutMs: 1_000 }, client);
    await queue.enqueue(1);
    const ended = new Promise((resolve) => client.once('end', resolve));
    client.disconnect();
    await ended;
    expect(await failure(queue.enqueue(2))).toMatchObject({ outcome: 'not-sent' });
    expect(await failure(queue.enqueueMany([{ payload: 2 }]))).toMatchObject({ outcome: 'not-sent' });
  });

  it('that was not sent is never written later', async () => {
    const server = await startOwnRedis();
    const client = unreliable(server.url);
    const queue = new JobQueue(client, 'jobs');
    const hasty = new JobQueue(client, 'jobs', { enqueueTimeoutMs: 100 });
    await queue.enqueue(['before'], { id: 'before' });
    const closed = new Promise((resolve) => client.once('close', resolve));
    await server.kill();
    await closed;
    expect(await failure(hasty.enqueue(['lost'], { id: 'lost' }))).toMatchObject({ outcome: 'not-sent' });
    const ready = new Promise((resolve) => client.once('ready', resolve));
    await server.restart();
    await ready;
    await queue.enqueue(['after'], { id: 'after' });
    expect(await queue.get('lost')).toBeNull();
    queue.close();
  });

  it('waits for a connection that comes in time', async () => {
    const proxy = await FaultProxy.start();
    const { queue } = coreQueue({}, unreliable(proxy.url, { lazyConnect: true }));
    expect((await queue.enqueue('hello')).outcome).toBe('new');
  });

  it('ends within its own limit, also where the limit of the connection is longer', async () => {
    const proxy = await FaultProxy.start();
    const { queue } = coreQueue({ enqueueTimeoutMs: 1_500 }, unreliable(proxy.url));
    await queue.enqueue('first');
    proxy.pause();
    const message = expect.stringContaining('no answer within 1500 ms');
    expect(await failure(queue.enqueue('second'))).toMatchObject({ outcome: 'unknown', message });
  });

  it('has one limit for the wait for a connection and for the answer', async () => {
    const info = bulk('# Server\r\nredis_version:7.2.0\r\n'); // asked for twice: by ioredis, and by us
    const slow = await startFakeRedis((command) => {
      if (/^evalsha\r$/im.test(command)) return null;
      return /^info\r$/im.test(command) ? new Promise((tell) => setTimeout(tell, 500, info)) : '+OK\r\n';
    });
    const { queue } = coreQueue({ enqueueTimeoutMs: 2_000 }, unreliable(slow.url));
    const begun = performance.now();
    expect(await failure(queue.enqueue('first'))).toMatchObject({ outcome: 'unknown' });
    expect(performance.now() - begun).toBeLessThan(2_900); // by two limits 3,000
  });

  it('is one where a command of the client throws', async () => {
    const client = connect();
    const { queue } = coreQueue({}, client);
    await queue.enqueue('first');
    jest.spyOn(client, 'sendCommand').mockImplementation(() => {
      throw new Error('the circuit is open');
    });
    const asked = inside(queue).run((await inside(queue).scripts()).stats()); // rejects, and does not throw
    await expect(asked).rejects.toThrow('the circuit is open');
    expect(await failure(queue.enqueue('second'))).toMatchObject({ outcome: 'unknown' });
  });

  it('I3: is unknown where the answer was lost; repeated with its id it adds nothing', async () => {
    const proxy = await FaultProxy.start();
    const { queue, state } = coreQueue({ enqueueTimeoutMs: 1_500 }, unreliable(proxy.url));
    await queue.enqueue(['first'], { id: 'first' });
    const lost = proxy.loseReplies();
    const failed = failure(queue.enqueueMany([{ payload: 1 }, { payload: 2 }]));
    await lost;
    const error = (await failed) as EnqueueError;
    expect(error).toMatchObject({ outcome: 'unknown', jobIds: [expect.any(String), expect.any(String)] });
    expect(await state.pending()).toEqual(['first', ...error.jobIds]);
    proxy.heal();
    proxy.cut();
    const again = await queue.enqueueMany(error.jobIds.map((id, i) => ({ payload: i + 1, id })));
    expect(again.map((handle) => handle.id)).toEqual(error.jobIds);
    expect(await state.pending()).toEqual(['first', ...error.jobIds]);
    expect(await state.total('enqueued')).toBe(3);
  });

  it('I3: whose reply was lost with the connection is sent again by the client, and is there once', async () => {
    const proxy = await FaultProxy.start();
    const { queue, state } = coreQueue({ enqueueTimeoutMs: 10_000 }, unreliable(proxy.url));
    await queue.enqueue(['first'], { id: 'first' });
    const lost = proxy.loseReplies();
    const enqueued = queue.enqueue(['second'], { id: 'second' });
    await lost;
    proxy.heal();
    proxy.cut();
    expect((await enqueued).outcome).toBe('new');
    expect(await state.pending()).toEqual(['first', 'second']);
    expect(await state.total('enqueued')).toBe(2);
  });

  it.each([{}, { priority: 1 }])('takes back its writes where it fails in the middle, with %o', async (options) => {
    const { queue, state } = coreQueue();
    state.broken = true;
    await state.redis.set(state.keys.stats, 'no hash');
    const before = await state.snapshot();
    expect(await failure(queue.enqueue(1, { id: 'a', ...options }))).toMatchObject({
      outcome: 'not-sent',
      jobIds: ['a'],
    });
    expect(await state.snapshot()).toEqual(before);
  });

  it('says that the server is too old, and is not sent', async () => {
    const info = bulk('# Server\r\nredis_version:6.2.14\r\nloading:0\r\n');
    const old = await startFakeRedis((command) => (/^info\r$/im.test(command) ? info : '+OK\r\n'));
    const { queue } = coreQueue({}, unreliable(old.url));
    const error = (await failure(queue.enqueue(1))) as EnqueueError;
    expect(error).toMatchObject({ outcome: 'not-sent' });
    expect(error.cause).toBeInstanceOf(RedisUnsuitableError);
    await expect(queue.stats()).rejects.toThrow('Redis 6.2.14 lacks what scripts need');
    await expect(queue.stats()).rejects.toThrow(RedisUnsuitableError);
  });
});

it('a Redis that is a replica refuses enqueues, and the error of one and of many says what to do', async () => {
  const server = await startOwnRedis();
  const redis = connect({}, server.url);
  const { queue } = coreQueue({}, redis);
  await queue.enqueue(0);
  await redis.replicaof('127.0.0.1', 1);
  const words = /: READONLY You can't write .*\. Connect to the master, or by Sentinel\. Nothing was written\. Job/;
  for (const call of [() => queue.enqueue(1), () => queue.enqueueMany([{ payload: 2 }, { payload: 3 }])]) {
    const error = await failure(call());
    expect(error).toMatchObject({ outcome: 'not-sent', message: expect.stringMatching(words) });
  }
});

it('a Redis that is out of memory refuses enqueues whole, and still settles, extends and reclaims', async () => {
  const server = await startOwnRedis();
  const redis = connect({}, server.url);
  const queue = new JobQueue(redis, 'jobs');
  await queue.enqueueMany(['a', 'b', 'c', 'd', 'e'].map((id) => ({ payload: id, id })));
  const [a, b, c] = await queue.claimMany(4);
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.config('SET', 'maxmemory', '1');
  const before = await redis.dbsize();

  const error = await failure(queue.enqueueMany([{ payload: 'f' }, { payload: 'g', delayMs: 5 }]));
  expect(error).toBeInstanceOf(RedisOutOfMemoryError);
  expect((error as Error).message).toContain('Nothing was written.');
  expect(await redis.dbsize()).toBe(before);

  expect(await queue.complete(a!, { done: true })).toBe(true);
  expect(await queue.fail(b!, new Error('no'))).toBe('retry');
  expect(await queue.extend(c!)).toBe('extended');
  expect(await queue.release(c!)).toBe('released');
  await redis.config('SET', 'maxmemory', '0');
  await redis.zadd('queue:jobs:claims', 'XX', 1, 'd');
  await redis.config('SET', 'maxmemory', '1');
  expect((await queue.reclaim()).reclaimed).toEqual([{ id: 'd', status: 'pending' }]);
  expect((await queue.claimMany(2)).map((job) => job.id)).toEqual(['d', 'c']);
  expect(await queue.cancel('e')).toBe('cancelled');
  expect(await queue.stats()).toMatchObject({ pending: 1, processing: 2, completed: 1, cancelled: 1 });
  expect(await keysLike(redis, 'queue:jobs:job:*')).toHaveLength(5);
});

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}
