import { describe, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import type { Job } from '#worker/handlers/job.js';
import { ShutdownError } from '#worker/attempt/worker-errors.js';
import { BACK_MS } from '../support/queue/bounds.js';
import { connect } from '../support/redis/redis.js';
import { FaultProxy } from '../support/faults/fault-proxy.js';
import { eventually, gate, sleep } from '../support/faults/wait.js';
import { NotedWaits } from '../support/worker/noted-waits.js';
import {
  connectionsOf,
  idle,
  namedConnection,
  newQueue,
  startWorker,
  TestWorker,
} from '../support/worker/workers.js';

describe('stop', () => {
  it('lets a running handler finish, and claims nothing more', async () => {
    const queue = newQueue();
    const finish = gate<string>();
    const first = await queue.enqueue('first');
    const second = await queue.enqueue('second');
    const worker = await startWorker(queue, () => finish.promise, { perQueue: 1 });
    await worker.event('started');
    const stopped = worker.worker.stop({ timeoutMs: 5_000 });
    finish.open('done');
    await stopped;
    expect(await queue.get(first.id)).toMatchObject({ status: 'completed', result: 'done' });
    expect(await queue.get(second.id)).toMatchObject({ status: 'pending', attempts: 0, interruptions: 0 });
    expect(worker.count('started')).toBe(1);
  });

  it('says for how long it waits for the running jobs at most', async () => {
    const queue = newQueue();
    const lines: string[] = [];
    const logger = { log: (line: string) => void lines.push(line), warn: () => {}, error: () => {} };
    const finish = gate();
    const worker = await startWorker(queue, () => finish.promise, { logger });
    await queue.enqueue(1);
    await worker.event('started');
    const stopped = worker.worker.stop({ timeoutMs: 4_000 });
    finish.open();
    await stopped;
    expect(lines).toContain('Stopping: waiting for 1 running job, at most 3200 ms.'); // 800 ms are for the releases
  });

  it('aborts a handler that overruns, and releases its job uncounted, first in line, in its old order', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const ids = (await queue.enqueueMany([1, 2, 3, 4].map((payload) => ({ payload })))).map(({ id }) => id);
    const reasons: unknown[] = [];
    const never = gate();
    const worker = await startWorker(
      queue,
      (job: Job) => {
        job.signal.addEventListener('abort', () => reasons.push(job.signal.reason));
        return never.promise;
      },
      { perQueue: 3 },
    );
    await worker.event('started', 3);
    await stopAtDeadline(worker, () => reasons.length === 3);
    expect(reasons).toEqual([new ShutdownError(), new ShutdownError(), new ShutdownError()]);
    expect(worker.count('released')).toBe(3);
    expect((await queue.list('pending')).map(({ id }) => id)).toEqual(ids);
    expect(await queue.get(ids[0]!)).toMatchObject({ attempts: 0, interruptions: 1, status: 'pending' });

    const next = await startWorker(queue);
    await next.event('completed', 4);
    expect((await queue.get(ids[0]!))!.attempts).toBe(1);
  });

  it('ignores the result that an aborted handler still returns', async () => {
    const queue = newQueue();
    const { id } = await queue.enqueue({});
    let isAborted = false;
    const worker = await startWorker(queue, async ({ signal }: Job) => {
      signal.addEventListener('abort', () => (isAborted = true));
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return 'late';
    });
    await worker.event('started');
    await stopAtDeadline(worker, () => isAborted);
    expect(await queue.get(id)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(worker.count('completed')).toBe(0);
  });

  it('aborts handlers when four fifths of its time are over, and returns at its end', async () => {
    const clock = new VirtualClock();
    const queue = new JobQueue(new ScriptStore(clock, { link: withoutReleases }), 'jobs');
    const seen: string[] = [];
    const handler = ({ signal }: Job) =>
      new Promise(() => signal.addEventListener('abort', () => seen.push('aborted')));
    const { worker } = await startWorker(queue, handler);
    await queue.enqueue({});
    await clock.advance(10);
    void worker.stop({ timeoutMs: 400 }).then(() => seen.push('returned'));
    await clock.advance(319);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual(['aborted']);
    await clock.advance(79);
    expect(seen).toEqual(['aborted']);
    await clock.advance(1);
    expect(seen).toEqual(['aborted', 'returned']);
  });

  it('ends an idle wait at once', async () => {
    const waits = new NotedWaits();
    let lastedFully = true;
    // A wait may end by itself just when the stop comes.
    for (let i = 0; i < 3 && lastedFully; i++) {
      const redis = namedConnection();
      const worker = await startWorker(newQueue({}, redis));
      await idle(redis);
      const look = waits.fromNow();
      await worker.worker.stop();
      lastedFully = look.lastedFully(0);
    }
    expect(lastedFully).toBe(false);
  });

  it('releases the jobs of a claim in flight', async () => {
    const queue = newQueue();
    const worker = await startWorker(queue, undefined, { perQueue: 5 });
    const enqueued = queue.enqueueMany(Array.from({ length: 200 }, (_, payload) => ({ payload })));
    await worker.event('started');
    await worker.worker.stop();
    await enqueued;
    const { pending, processing, completed } = await queue.stats();
    expect({ processing, all: pending + completed }).toEqual({ processing: 0, all: 200 });
  });

  it('is one stop, however often it is called, and ends starts and resumes', async () => {
    const queue = newQueue();
    const worker = await startWorker(queue);
    await Promise.all([worker.worker.stop(), worker.worker.stop()]);
    worker.worker.resume();
    await queue.enqueue({});
    await worker.worker.start();
    await sleep(50); // shows that no claim follows, so there is no signal
    expect(await queue.stats()).toMatchObject({ pending: 1, workers: 0 });
  });

  it.each([null, { timeoutMs: '1' }, { timeoutMs: -1 }, { timeout: 5 }])(
    'refuses %j, and continues',
    async (options) => {
      const queue = newQueue();
      const worker = await startWorker(queue);
      expect(() => worker.worker.stop(options as never)).toThrow(InvalidOptionError);
      await queue.enqueue({});
      await worker.event('completed');
    },
  );

  it('leaves no connection, listener or timer behind, and the client as it was', async () => {
    const redis = namedConnection();
    const queue = newQueue({}, redis);
    await queue.stats();
    const listeners = () => redis.eventNames().map((name) => [name, redis.listenerCount(name)]);
    const before = { listeners: listeners(), connections: (await connectionsOf(redis)).length, timers: timers() };
    for (let i = 0; i < 5; i++) {
      const worker = await startWorker(queue, { handle: () => 1, timeoutMs: 60_000 }, { sweepIntervalMs: 20 });
      await queue.enqueue(i);
      await worker.event('completed');
      await worker.worker.stop();
    }
    await eventually(async () => (await connectionsOf(redis)).length === before.connections);
    expect(listeners()).toEqual(before.listeners);
    await eventually(() => timers() <= before.timers); // a connection that closes has one until it is closed
    expect(redis.status).toBe('ready');
  });
});

describe('stop while Redis is away', () => {
  it('returns within the deadline, and claims nothing when the server is back', async () => {
    const { proxy, redis, queue, other } = await behindProxy();
    const finish = gate();
    const { id } = await other.enqueue('runs');
    const worker = await startWorker(queue, () => finish.promise, { perQueue: 1 });
    await worker.event('started');
    proxy.refuse();
    await eventually(() => redis.status === 'reconnecting');
    finish.open(); // its complete cannot be sent, and the claim for the free slot neither
    await eventually(() => worker.worker.running === 0);
    const begun = performance.now();
    await worker.worker.stop({ timeoutMs: 500 });
    expect(performance.now() - begun).toBeLessThan(500 + BACK_MS);
    const later = await other.enqueue('later');
    proxy.heal();
    await eventually(() => redis.status === 'ready');
    await redis.ping(); // whatever was queued before it has been sent
    expect(await other.get(later.id)).toMatchObject({ status: 'pending', attempts: 0, interruptions: 0 });
    expect(await other.get(id)).not.toMatchObject({ status: 'pending' });
  });

  it('returns within the deadline also when the connections are half-open', async () => {
    const { proxy, queue, other } = await behindProxy();
    const never = gate();
    await other.enqueue('runs');
    const worker = await startWorker(queue, () => never.promise);
    await worker.event('started');
    proxy.pause();
    const begun = performance.now();
    await worker.worker.stop({ timeoutMs: 500 });
    expect(performance.now() - begun).toBeLessThan(500 + BACK_MS);
    proxy.heal();
    proxy.cut();
    // The release was in flight: the client sends it again when it is connected.
    await eventually(async () => (await other.stats()).processing === 0);
  });

  it('returns at once when nothing waits to be settled', async () => {
    const { proxy, redis, queue } = await behindProxy();
    const worker = await startWorker(queue, () => 1);
    await queue.enqueue({});
    await worker.event('completed');
    proxy.refuse();
    await eventually(() => redis.status === 'reconnecting');
    const begun = performance.now();
    await worker.worker.stop({ timeoutMs: 10_000 });
    expect(performance.now() - begun).toBeLessThan(BACK_MS);
    proxy.heal();
    await eventually(() => redis.status === 'ready');
  });

  it('ends a start that waits for the server', async () => {
    const { proxy, redis, queue } = await behindProxy();
    proxy.refuse();
    await eventually(() => redis.status === 'reconnecting');
    const worker = new TestWorker([{ queue, handlers: { x: () => 1 } }], {});
    const started = worker.worker.start();
    const begun = performance.now();
    await worker.worker.stop({ timeoutMs: 10_000 });
    await started;
    expect(performance.now() - begun).toBeLessThan(BACK_MS);
    proxy.heal();
    await eventually(() => redis.status === 'ready');
  });
});

it('start while Redis is away waits, and works when the server is there', async () => {
  const { proxy, redis, queue, other } = await behindProxy();
  proxy.refuse();
  await eventually(() => redis.status === 'reconnecting');
  await other.enqueue({});
  const worker = new TestWorker([{ queue, handlers: { [queue.name]: () => 'done' } }], {});
  const started = worker.worker.start();
  await new Promise((resolve) => redis.once('reconnecting', resolve)); // an attempt to connect has failed again
  expect(worker.worker.sinceLastFetchMs).toBeUndefined();
  proxy.heal();
  await started;
  await worker.event('completed');
});

/** Answers every call but a release. */
function withoutReleases<Reply>(script: string, run: () => Reply): Promise<Reply> {
  return script === 'attemptRelease' ? new Promise(() => {}) : Promise.resolve(run());
}

/** Stops a worker whose clock jumps to the abort of its handlers, and back. So their releases have the whole time. */
async function stopAtDeadline({ worker }: TestWorker, isAborted: () => boolean): Promise<void> {
  const monotonic = systemClock.monotonic.bind(systemClock);
  let aheadMs = 0;
  jest.spyOn(systemClock, 'monotonic').mockImplementation(() => monotonic() + (isAborted() ? 0 : aheadMs));
  const stopped = worker.stop({ timeoutMs: 10_000 });
  aheadMs = 9_000; // the last second is for the releases
  await stopped;
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}

/** Makes a queue whose worker reaches the server through a proxy, and the same queue past it. */
async function behindProxy(): Promise<{ proxy: FaultProxy; redis: Redis; queue: JobQueue; other: JobQueue }> {
  const proxy = await FaultProxy.start();
  const redis = connect({ retryStrategy: () => 20, maxRetriesPerRequest: null }, proxy.url);
  redis.on('error', () => undefined);
  const other = newQueue();
  const queue = newQueue({}, redis, other.name);
  await redis.ping();
  return { proxy, redis, queue, other };
}
