// A worker whose connections fail: it continues within a bound, and no job is lost or doubled.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { BACK_MS } from '../../support/queue/bounds.js';
import { failure } from '../../support/faults/failure.js';
import { connect } from '../../support/redis/redis.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import { connectionsOf, idle, namedConnection, newQueue, startWorker } from '../../support/worker/workers.js';
import { behindProxy } from '../../support/browser/behind-proxy.js';
import { inside } from '../../support/queue/inside.js';

describe('a cut connection', () => {
  it('holds up an idle worker for less than 2 s', async () => {
    const { proxy, queue, other } = await behindProxy();
    const worker = await startWorker(queue);
    await other.enqueue('before');
    await worker.event('completed');
    for (let i = 2; i < 5; i++) {
      proxy.cut();
      const begun = performance.now();
      await other.enqueue('after');
      await worker.event('completed', i);
      expect(performance.now() - begun).toBeLessThan(BACK_MS);
    }
  });

  it('loses and doubles nothing, however often it happens under load', async () => {
    const { proxy, queue, other } = await behindProxy();
    const runs = new Map<string, number>();
    const worker = await startWorker(queue, async (job: Job) => {
      runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
      await new Promise((resolve) => setImmediate(resolve));
      return job.id;
    });
    const handles = await other.enqueueMany(Array.from({ length: 600 }, (_, payload) => ({ payload })));
    for (let cuts = 1; cuts <= 6; cuts++) {
      await worker.event('completed', cuts * 60);
      proxy.cut();
    }
    await worker.event('completed', 600);
    expect([...runs.values()].every((count) => count === 1)).toBe(true);
    expect(runs.size).toBe(600);
    expect(worker.count('lost')).toBe(0);
    expect((await other.list('completed', { limit: 1_000 })).map(({ id }) => id).toSorted()).toEqual(
      handles.map(({ id }) => id).toSorted(),
    );
    expect((await other.stats()).totals).toMatchObject({ completed: 600 });
  });

  it('is repaired after CLIENT KILL, for both connections', async () => {
    const redis = namedConnection({ retryStrategy: () => 20, maxRetriesPerRequest: null });
    const queue = newQueue({}, redis);
    const other = newQueue({}, undefined, queue.name);
    const worker = await startWorker(queue);
    await idle(redis);
    const ids = (await connectionsOf(redis)).map((line) => /id=(\d+)/.exec(line)![1]!);
    expect(ids).toHaveLength(2);
    const admin = connect();
    await Promise.all(ids.map((id) => admin.client('KILL', 'ID', id)));
    const begun = performance.now();
    await other.enqueue({});
    await worker.event('completed');
    expect(performance.now() - begun).toBeLessThan(BACK_MS);
  });
});

describe('a half-open connection', () => {
  it('that waits for jobs is found out and replaced within 5 s', async () => {
    const { proxy, redis, queue, other } = await behindProxy();
    const worker = await startWorker(queue);
    await other.enqueue('before');
    await worker.event('completed');
    await idle(redis);
    proxy.pause(isWait);
    const begun = performance.now();
    await other.enqueue('after');
    await worker.event('completed', 2);
    expect(performance.now() - begun).toBeGreaterThan(1_500); // it was really half-open
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it('is replaced also where new ones keep silent for a while', async () => {
    const { proxy, redis, queue, other } = await behindProxy();
    const worker = await startWorker(queue);
    await other.enqueue('before');
    await worker.event('completed');
    await idle(redis);
    const { made } = proxy.connections;
    proxy.pause((request) => request === '' || isWait(request));
    await eventually(() => proxy.connections.made > made); // accepted, and silent
    proxy.heal();
    await other.enqueue('after');
    await worker.event('completed', 2);
  });

  it('of a process that only enqueues is replaced once an answer is overdue', async () => {
    const { proxy, queue } = await behindProxy({ enqueueTimeoutMs: 2_000 });
    await queue.enqueue('before');
    proxy.pause();
    const lost = await queue.enqueue('lost').catch((error: unknown) => error);
    expect(lost).toMatchObject({ outcome: 'unknown' });
    proxy.heal();
    await queue.enqueue('after'); // within its enqueueTimeoutMs
  });

  it('of a process that only enqueues is replaced also where new ones keep silent for a while', async () => {
    const { proxy, queue } = await behindProxy({ enqueueTimeoutMs: 1_000 });
    await queue.enqueue('before');
    const { made } = proxy.connections;
    proxy.pause();
    await expect(queue.enqueue('lost')).rejects.toMatchObject({ outcome: 'unknown' });
    await eventually(() => proxy.connections.made > made); // accepted, and silent
    proxy.heal();
    const enqueued = () => queue.enqueue('after').catch(() => undefined);
    await eventually(enqueued, { timeoutMs: 7_000, what: 'an enqueue over a new connection' });
  });

  it('of a process that asks for the first time is replaced', async () => {
    const { proxy, queue } = await behindProxy({ enqueueTimeoutMs: 1_000 });
    proxy.pause((request) => request !== '');
    await expect(queue.enqueue('first')).rejects.toMatchObject({ outcome: 'not-sent' });
    const enqueued = () => queue.enqueue('second').catch(() => undefined);
    await eventually(enqueued, { timeoutMs: 7_000, what: 'an enqueue over a new connection' });
  });

  it('that listens for results is replaced when another is asked for', async () => {
    const { proxy, queue, other } = await behindProxy();
    const handles = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    const first = handles[0]!.result();
    const { keys } = await inside(other).scripts();
    const listeners = async () => Number((await inside(other).connection.client.pubsub('NUMSUB', keys.events))[1]);
    await eventually(async () => (await listeners()) === 1, { what: 'a connection that listens' });
    proxy.pause((requests) => /subscribe/i.test(requests));
    const begun = performance.now();
    const second = handles[1]!.result();
    await startWorker(other, () => 'done');
    expect(await Promise.all([first, second])).toEqual(['done', 'done']);
    expect(performance.now() - begun).toBeGreaterThan(1_500); // it was really half-open
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it('that listens for results is replaced once for all who wait, and has the time to answer that a slow server needs', async () => {
    const { proxy, queue, other } = await behindProxy();
    const handles = await queue.enqueueMany(Array.from({ length: 20 }, (_, payload) => ({ payload })));
    const results = [handles[0]!.result()];
    const { keys } = await inside(other).scripts();
    const listeners = async () => Number((await inside(other).connection.client.pubsub('NUMSUB', keys.events))[1]);
    await eventually(async () => (await listeners()) === 1, { what: 'a connection that listens' });
    proxy.pause((requests) => /subscribe/i.test(requests));
    proxy.delay(200); // each way, so that a confirmation comes after several later requests
    for (const handle of handles.slice(1)) {
      await sleep(100); // the time between two requests
      results.push(handle.result());
    }
    await startWorker(other, () => 'done');
    expect(await Promise.all(results)).toEqual(handles.map(() => 'done'));
  });

  it('does not hold up a question, whichever it is, and is replaced', async () => {
    const questions: Record<string, (queue: JobQueue) => Promise<unknown>> = {
      stats: (queue) => queue.stats(),
      get: (queue) => queue.get('some'),
      cancel: (queue) => queue.cancel('some'),
      claim: (queue) => queue.claim(),
      clean: (queue) => queue.clean('completed'),
      'schedules.list': (queue) => queue.schedules.list(),
      doctor: (queue) => queue.doctor(),
    };
    const answers = Object.entries(questions).map(async ([question, ask]) => {
      const { proxy, queue } = await behindProxy({ enqueueTimeoutMs: 500 });
      await queue.stats();
      proxy.pause(isNoWait);
      const begun = performance.now();
      const { name, message } = await failure<Error>(() => ask(queue));
      const inTime = performance.now() - begun < 3_000;
      await ask(queue);
      return { question, name, message, inTime };
    });
    const name = 'RedisUnsuitableError';
    const message = expect.stringContaining('no answer within 1000 ms');
    expect(await Promise.all(answers)).toEqual(
      Object.keys(questions).map((question) => ({ question, name, message, inTime: true })),
    );
  });

  it('for commands does not cost a running job its claim', async () => {
    const { proxy, redis, queue, other } = await behindProxy({ visibilityMs: 6_000 });
    const finish = gate();
    await other.enqueue({});
    const worker = await startWorker(queue, () => finish.promise);
    await worker.event('started');
    await idle(redis);
    proxy.pause(isNoWait);
    const { keys } = await inside(other).scripts();
    const expiry = async () =>
      Number((await inside(other).connection.client.zrange(keys.claims, 0, '-1', 'WITHSCORES'))[1]);
    const before = await expiry();
    await eventually(async () => (await expiry()) > before, { timeoutMs: 6_000, what: 'the claim is extended' });
    finish.open();
    await worker.event('completed');
    expect(worker.count('lost')).toBe(0);
  });

  it('for commands does not end the sweep permanently', async () => {
    const { proxy, redis, queue, other } = await behindProxy({ visibilityMs: 3_000 });
    const left = await other.enqueue({});
    await other.claim(); // its worker dies
    const worker = await startWorker(queue, () => undefined, { sweepIntervalMs: 100 });
    await idle(redis);
    proxy.pause(isNoWait);
    await worker.event('completed', 1, { id: left.id, timeoutMs: 20_000 });
  }, 30_000);
});

it('a slow connection slows the worker down, and nothing else', async () => {
  const { proxy, queue, other } = await behindProxy();
  proxy.delay(60);
  const worker = await startWorker(queue, (job: Job) => job.payload);
  await other.enqueueMany(Array.from({ length: 100 }, (_, payload) => ({ payload })));
  await worker.event('completed', 100);
  expect(worker.warnings).toEqual([]);
  expect((await other.stats()).totals).toMatchObject({ completed: 100 });
});

function isWait(request: string): boolean {
  return /bzpopmin/i.test(request);
}

function isNoWait(request: string): boolean {
  return request !== '' && !isWait(request);
}
