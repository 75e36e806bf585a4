// A queue that we share with clients of the Redis documentation's pattern.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { silentLogger } from '#queue/runtime/logger.js';
import type { Job } from '#worker/handlers/job.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import type { WorkerEvent } from '#worker/handlers/attempt-middleware.js';
import { connect } from '../support/redis/redis.js';
import { PatternClient, type PatternJob, type PatternOptions } from '../support/queue/pattern-client.js';
import { idle, leaveBroken, namedConnection, newQueue, startWorker } from '../support/worker/workers.js';
import { inside } from '../support/queue/inside.js';

const HOUR = 3_600_000;

/** Makes a queue of ours and a client of the pattern on it. */
function sharedQueue(options: QueueOptions = {}, pattern: PatternOptions = {}) {
  const redis = namedConnection();
  const queue = newQueue(options, redis);
  // A foreign complete leaves the token in the hash, and its history is shorter than ours.
  leaveBroken(queue);
  const sweeper = new Sweeper([queue], 1, silentLogger);
  const client = () => new PatternClient(redis, connect(), queue.name, { history: 5_000, ...pattern });
  return { queue, redis, sweep: () => sweeper.runOnce(), client, foreign: client() };
}

describe('a producer of the pattern', () => {
  it.each([
    ['the kind of its payload', { kind: 'email', to: 'ada' }, 'email'],
    ['the name of the queue, where there is none', { to: 'ada' }, undefined],
  ])('feeds our worker; the handler is found by %s', async (_, payload, kind) => {
    const { queue, foreign } = sharedQueue();
    await startWorker([{ queue, handlers: { [kind ?? queue.name]: echo } }]);
    const id = await foreign.enqueue(payload);
    await expect(queue.result(id, { timeoutMs: 5_000 })).resolves.toEqual({ got: payload });
    expect(await queue.get(id)).toMatchObject({ id, status: 'completed', attempts: 1 });
  });

  it('waits for about a second at most, although it wakes no worker', async () => {
    const { queue, redis, foreign } = sharedQueue();
    const worker = await startWorker(queue);
    await idle(redis);
    const begun = performance.now();
    const id = await foreign.enqueue({});
    await worker.event('started', 1, { id });
    expect(performance.now() - begun).toBeLessThan(2_600);
  });

  it('keeps the fields it added', async () => {
    const { queue, redis, foreign } = sharedQueue();
    const id = await foreign.enqueue({});
    const { keys } = await inside(queue).scripts();
    await redis.hset(keys.job(id), { trace: 'abc', claimed_at_ms: '0' });
    const worker = await startWorker(queue);
    await worker.event('completed');
    expect(await redis.hget(keys.job(id), 'trace')).toBe('abc');
  });
});

describe.each(['BLMOVE', 'BRPOPLPUSH'] as const)('a worker of the pattern (%s)', (move) => {
  it('takes our jobs in their order and completes them; the result is read as ours', async () => {
    const { queue, foreign } = sharedQueue({}, { move });
    const first = await queue.enqueue({ n: 1 });
    const second = await queue.enqueue({ n: 2 });
    const result = first.result({ timeoutMs: 5_000 });
    const job = await foreign.claim();
    expect(job).toMatchObject({ id: first.id, payload: { n: 1 }, attempts: 1 });
    expect(await queue.stats()).toMatchObject({ processing: 1, pending: 1 });
    expect(await queue.list('processing')).toMatchObject([{ id: first.id, status: 'processing' }]);
    expect(await foreign.complete(job!, { sent: true })).toBe(true);
    expect(await result).toEqual({ sent: true });
    expect(await foreign.claim()).toMatchObject({ id: second.id });
    expect(await queue.list('completed')).toMatchObject([{ id: first.id }]);
    expect(await queue.stats()).toMatchObject({ completed: 1, processing: 1 });
  });

  it('fails and retries our jobs, and our worker continues from there', async () => {
    const { queue, foreign } = sharedQueue({ maxAttempts: 3 }, { move });
    const { id } = await queue.enqueue({});
    expect(await foreign.fail((await foreign.claim())!, 'first')).toBe('retry');
    expect(await foreign.fail((await foreign.claim())!, 'second')).toBe('retry');
    const attempts: number[] = [];
    const worker = await startWorker(queue, (job: Job) => {
      attempts.push(job.attempt);
      throw new Error('third');
    });
    await worker.event('failed');
    expect(attempts).toEqual([3]);
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 3, lastError: 'third' });
  });
});

describe('our sweep', () => {
  it.each<[string, boolean]>([
    ['that died while it worked', true],
    ['that died between its two steps', false],
  ])('reclaims the claim of a foreign worker %s, when its time is over', async (_, withToken) => {
    const { queue, redis, sweep, foreign } = sharedQueue({ foreignVisibilityMs: 60_000 }, { clockOffMs: -HOUR });
    const { id } = await queue.enqueue({});
    const dead = withToken ? await foreign.claim() : { id: (await foreign.move(1_000))! };
    expect(dead).toMatchObject({ id });
    await sweep();
    await sweep();
    expect(await queue.stats()).toMatchObject({ processing: 1, pending: 0 }); // its time has only begun
    await age(queue, 60_001);
    await sweep();
    expect(await queue.stats()).toMatchObject({ processing: 0, pending: 1 });
    expect(await queue.get(id)).toMatchObject({ status: 'pending', crashes: 1 });

    const worker = await startWorker(queue, () => 'ours');
    await worker.event('completed');
    expect(await queue.get(id)).toMatchObject({ status: 'completed', result: 'ours' });
    if (withToken) {
      expect(await foreign.complete(dead as PatternJob, 'theirs')).toBe(false);
    }
    expect(await redis.lrange((await inside(queue).scripts()).keys.completed, 0, -1)).toEqual([id]);
  });

  it('gives every new claim of the same job its whole time', async () => {
    const { queue, sweep, foreign } = sharedQueue({ foreignVisibilityMs: 60_000 });
    await queue.enqueue({});
    await foreign.fail((await foreign.claim())!, 'again'); // seen by no sweep
    await foreign.claim();
    await sweep();
    await age(queue, 30_000);
    await sweep();
    expect(await queue.stats()).toMatchObject({ processing: 1 });
    await age(queue, 30_001);
    await sweep();
    expect(await queue.stats()).toMatchObject({ processing: 0, pending: 1 });
  });

  it('goes through a long list in slices, and skips none', async () => {
    const { queue, sweep, foreign } = sharedQueue({ foreignVisibilityMs: 60_000 });
    const count = 650;
    await queue.enqueueMany(Array.from({ length: count }, (_, payload) => ({ payload })));
    for (let i = 0; i < count; i++) {
      await foreign.move(1_000);
    }
    const seen = async () =>
      inside(queue).connection.client.zcard((await inside(queue).scripts()).keys.foreignClaims);
    await sweep();
    expect(await seen()).toBeLessThan(count); // bounded
    for (let runs = 0; (await seen()) < count; runs++) {
      expect(runs).toBeLessThan(10);
      await sweep();
    }
    await age(queue, 60_001);
    for (let runs = 0; (await queue.stats()).pending < count; runs++) {
      expect(runs).toBeLessThan(20);
      await sweep();
    }
    expect(await queue.stats()).toMatchObject({ processing: 0, pending: count });
  });

  it('does not reclaim a job forever that kills every foreign worker', async () => {
    const { queue, sweep, foreign } = sharedQueue({ foreignVisibilityMs: 60_000, maxCrashes: 3, maxAttempts: 10 });
    const id = await foreign.enqueue({});
    for (let i = 0; i < 3; i++) {
      expect(await foreign.claim()).toMatchObject({ id });
      await sweep();
      await age(queue, 60_001);
      await sweep();
    }
    expect(await queue.get(id)).toMatchObject({ status: 'failed', crashes: 3 });
    expect(await queue.stats()).toMatchObject({ failed: 1, pending: 0, processing: 0 });
  });

  it('reports a job that died with its foreign worker like one that died with ours', async () => {
    const { queue, foreign } = sharedQueue({ foreignVisibilityMs: 60_000, maxAttempts: 1 });
    const events: WorkerEvent[] = [];
    const warnings: string[] = [];
    const logger = { ...silentLogger, error: (message: string) => void warnings.push(message) };
    const sweeper = new Sweeper([queue], 1, logger, { emit: (event) => void events.push(event) });
    const id = await foreign.enqueue({ n: 1 });
    await foreign.claim();
    await sweeper.runOnce();
    await age(queue, 60_001);
    await sweeper.runOnce();
    expect(events).toMatchObject([
      { type: 'failed', job: { id, payload: { n: 1 }, attempt: 1 }, error: { name: 'WorkerCrash' } },
    ]);
    expect(warnings).toEqual([`Job ${id} of queue "${queue.name}" lost its worker and is now a dead letter.`]);
  });

  it('takes a failure of a foreign worker into the dead letters, which outlive its 300 s', async () => {
    const { queue, redis, sweep, foreign } = sharedQueue({}, { maxAttempts: 1 });
    const { keys } = await inside(queue).scripts();
    const { id } = await queue.enqueue({});
    expect(await foreign.fail((await foreign.claim())!, 'no such host')).toBe('failed');
    expect(await redis.ttl(keys.job(id))).toBeGreaterThan(0);
    const lines: string[] = [];
    const logger = { ...silentLogger, error: (message: string) => void lines.push(message) };
    await new Sweeper([queue], 1, logger).runOnce();
    expect(lines).toEqual([
      `1 job that clients of the Redis pattern failed is a dead letter of queue "${queue.name}".`,
    ]);
    await sweep();
    expect(await redis.ttl(keys.job(id))).toBe(-1);
    expect(await queue.list('failed')).toMatchObject([{ id, status: 'failed', lastError: 'no such host' }]);
    expect(await queue.stats()).toMatchObject({ failed: 1 });

    expect(await queue.deadLetters.redriveMany([id])).toBe(1);
    const worker = await startWorker(queue);
    await worker.event('completed');
    expect(await queue.get(id)).toMatchObject({ status: 'completed', attempts: 1 });
  });

  it('finds a foreign dead letter behind many of ours', async () => {
    const { queue, sweep, foreign } = sharedQueue({ maxAttempts: 1 }, { maxAttempts: 1 });
    const { id } = await queue.enqueue({});
    await foreign.fail((await foreign.claim())!, 'theirs');
    await queue.enqueueMany(Array.from({ length: 450 }, (_, payload) => ({ payload })));
    const worker = await startWorker(queue, () => Promise.reject(new Error('ours')));
    await worker.event('failed', 450);
    for (let i = 0; i < 4; i++) {
      await sweep();
    }
    expect(await queue.get(id)).toMatchObject({ lastError: 'theirs', failedAt: expect.any(Date) });
    expect(await queue.stats()).toMatchObject({ failed: 451 });
  });

  it('leaves our claims to us, and the sweep of the pattern does too', async () => {
    const { queue, foreign } = sharedQueue({}, { clockOffMs: HOUR, visibilityMs: 1 });
    const { id } = await queue.enqueue({});
    const job = (await queue.claim())!;
    expect(await foreign.reclaim()).toEqual([]);
    expect(await queue.stats()).toMatchObject({ processing: 1, pending: 0 });
    expect(await queue.complete(job, 'ours')).toBe(true);
    expect(await queue.get(id)).toMatchObject({ status: 'completed', result: 'ours' });
  });
});

it('both on one queue lose no job and record none twice', async () => {
  const { queue, redis, sweep, client } = sharedQueue({ maxAttempts: 3 }, { maxAttempts: 3 });
  const { keys } = await inside(queue).scripts();
  const runs = new Map<string, number>();
  const note = (id: string) => void runs.set(id, (runs.get(id) ?? 0) + 1);
  const ours = await startWorker(queue, async (job: Job) => {
    await new Promise((resolve) => setImmediate(resolve));
    if (job.attempt === 1 && failsFirst(job.payload)) throw new Error('first');
    note(job.id);
  });
  let theirs = 0;
  const work = async (foreign: PatternClient) => {
    for (let job = await foreign.claim(300); job; job = await foreign.claim(300)) {
      if (job.attempts === 1 && failsFirst(job.payload)) {
        expect(await foreign.fail(job, 'first')).toBe('retry');
      } else {
        note(job.id);
        theirs++;
        expect(await foreign.complete(job, null)).toBe(true);
      }
    }
  };
  const producer = client();
  const produce = async () => {
    const ids: string[] = [];
    for (let n = 0; n < 400; n += 2) {
      const [handle, id] = await Promise.all([queue.enqueue({ n }), producer.enqueue({ n: n + 1 })]);
      ids.push(handle.id, id);
    }
    return ids;
  };
  const [ids] = await Promise.all([produce(), work(client()), work(client()), work(client()), sweep()]);
  await ours.event('completed', 400 - theirs, { timeoutMs: 10_000 });
  await sweep();
  const history = await redis.lrange(keys.completed, 0, -1);
  expect(history.toSorted()).toEqual(ids.toSorted());
  expect([...runs.values()].every((count) => count === 1)).toBe(true);
  expect(runs.size).toBe(400);
  expect(theirs).toBeGreaterThan(0);
  expect(theirs).toBeLessThan(400);
  expect(await queue.stats()).toMatchObject({ pending: 0, processing: 0, completed: 400, failed: 0 });
});

function echo(job: Job): unknown {
  return { got: job.payload };
}

function failsFirst(payload: unknown): boolean {
  return (payload as { n: number }).n % 10 === 3;
}

/** Lets time pass for what the sweep has seen of foreign claims. */
async function age(queue: JobQueue, ms: number): Promise<void> {
  const { keys } = await inside(queue).scripts();
  const { client } = inside(queue).connection;
  for (const seen of await client.zrange(keys.foreignClaims, 0, '-1')) {
    await client.zincrby(keys.foreignClaims, -ms, seen);
  }
}
