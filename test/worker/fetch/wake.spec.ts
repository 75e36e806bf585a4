// What ends the sleep of an idle worker. Without the wake-up a job would wait for the next poll, up to a second. Each
// of these is repeated, and all must be fast.
import { describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import type { ClaimedJob } from '#queue/model/job.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import {
  connectionsOf,
  idle,
  namedConnection,
  newQueue,
  startWorker,
  type TestWorker,
} from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

const ROUNDS = 4;
const FAST_MS = 500;

/** The delay of a job for which a worker sleeps. It looks for jobs once a second anyway. */
const LATER_MS = 900;

/** Makes a queue with an idle worker on its own connections, and the same queue over another connection. */
async function idleWorker(options = {}) {
  const redis = namedConnection();
  const mine = newQueue(options, redis);
  const worker = await startWorker(mine, (job: Job) => {
    if (job.payload === 'fail') throw new Error('asked to');
  });
  await idle(redis);
  return { queue: mine, redis, worker };
}

/** Measures the time from the action to the next start: the shortest and the longest of some rounds, in ms. */
async function timeStarts(
  { redis, worker }: { redis: Redis; worker: TestWorker },
  action: (round: number) => Promise<unknown>,
): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await idle(redis);
    const before = worker.count('started');
    const begun = performance.now();
    const starts = worker.event('started', before + 1);
    await action(round);
    await starts;
    times.push(performance.now() - begun);
    await eventually(() => worker.worker.running === 0);
  }
  return times;
}

/**
 * Returns whether a job starts before the worker would look by itself, in one of some rounds. On a busy machine a round may
 * take longer. Without the wake each of them does.
 *
 * @param prepare lets the worker sleep, and returns the action that brings the job, and resolves to its id
 */
async function oneIsFast(worker: TestWorker, prepare: () => Promise<() => Promise<string>>): Promise<boolean> {
  for (let round = 0; round < ROUNDS; round++) {
    const act = await prepare();
    const begun = performance.now();
    const id = await act();
    await worker.event('started', 1, { id });
    if (performance.now() - begun < FAST_MS) {
      return true;
    }
  }
  return false;
}

describe('an idle worker is woken by', () => {
  it('an enqueue, plain or urgent', async () => {
    const setup = await idleWorker();
    const times = await timeStarts(setup, (i) => setup.queue.enqueue(i, i % 2 ? { priority: 5 } : {}));
    expect(Math.max(...times)).toBeLessThan(FAST_MS);
  });

  it('a retry that another worker sent back', async () => {
    const setup = await idleWorker();
    const times = await timeStarts(setup, async () =>
      setup.queue.fail(await claimedElsewhere(setup), new Error('x'), { delayMs: 0 }),
    );
    expect(Math.max(...times)).toBeLessThan(FAST_MS);
  });

  it('a release by another worker', async () => {
    const setup = await idleWorker();
    const times = await timeStarts(setup, async () => setup.queue.release(await claimedElsewhere(setup)));
    expect(Math.max(...times)).toBeLessThan(FAST_MS);
  });

  it('a reclaim', async () => {
    const setup = await idleWorker();
    const { keys } = await inside(setup.queue).scripts();
    const times = await timeStarts(setup, async () => {
      const job = await claimedElsewhere(setup);
      await setup.redis.zadd(keys.claims, 'XX', 1, job.id);
      await setup.queue.reclaim();
    });
    expect(Math.max(...times)).toBeLessThan(FAST_MS);
  });

  it('a promotion by hand', async () => {
    const setup = await idleWorker();
    const jobs = await setup.queue.enqueueMany(
      Array.from({ length: ROUNDS }, (_, payload) => ({ payload, delayMs: 3_600_000 })),
    );
    const times = await timeStarts(setup, (i) => setup.queue.reschedule(jobs[i]!.id, { delayMs: 0 }));
    expect(Math.max(...times)).toBeLessThan(FAST_MS);
  });

  it('its own clock at the time of a delayed job, where the server looks at its waits once a second', async () => {
    const server = await startOwnRedis();
    const redis = namedConnection({}, server.url);
    await redis.config('SET', 'hz', '1');
    await redis.config('SET', 'dynamic-hz', 'no').catch(() => undefined); // Valkey 9 has no such setting
    const queue = newQueue({}, redis);
    const worker = await startWorker(queue);
    await idle(redis);
    const times = await timeStarts({ redis, worker }, () => queue.enqueue({}, { delayMs: 300 }));
    expect(Math.max(...times)).toBeLessThan(300 + FAST_MS);
  });

  it('the end of a pause', async () => {
    const setup = await idleWorker();
    const times = await timeStarts(setup, async () => {
      await setup.queue.pause();
      await setup.queue.enqueue({});
      await idle(setup.redis);
      await setup.queue.resume();
    });
    expect(Math.max(...times)).toBeLessThan(FAST_MS);
    expect((await setup.queue.stats()).pausedAt).toBeNull();
  });

  it('a redrive', async () => {
    const setup = await idleWorker({ maxAttempts: 1 });
    const { id } = await setup.queue.enqueue('fail');
    await setup.worker.event('failed');
    const times = await timeStarts(setup, async (i) => {
      await setup.queue.deadLetters.redriveMany([id]);
      await setup.worker.event('failed', i + 2);
    });
    expect(Math.max(...times)).toBeLessThan(FAST_MS);
  });

  it('an error that passes, after which it waits again, without a word', async () => {
    const setup = await idleWorker();
    const times = await timeStarts(setup, async () => {
      // Between two waits, of a second each, there is none for a moment.
      await eventually(async () => {
        const waits = (await connectionsOf(setup.redis)).find((line) => /flags=\w*b/.test(line));
        const [, id] = /^id=(\d+)/.exec(waits ?? '') ?? [];
        return id && (await setup.redis.client('UNBLOCK', id, 'ERROR')) === 1;
      });
      await setup.queue.enqueue({});
    });
    expect(Math.max(...times)).toBeLessThan(FAST_MS);
    expect(setup.worker.warnings).toEqual([]);
  });

  it('the end of a local pause', async () => {
    const setup = await idleWorker();
    const times = await timeStarts(setup, async () => {
      setup.worker.worker.pause();
      await setup.queue.enqueue({});
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(setup.worker.worker.running).toBe(0);
      setup.worker.worker.resume();
    });
    expect(Math.max(...times)).toBeLessThan(FAST_MS);
  });
});

describe('a delayed job', () => {
  it('starts soon after its time, never before, on an idle worker', async () => {
    const setup = await idleWorker();
    for (const delayMs of [40, 120, 310, 700]) {
      await idle(setup.redis);
      const before = setup.worker.count('started');
      const { id } = await setup.queue.enqueue({}, { delayMs });
      const { job } = await setup.worker.event('started', before + 1);
      const late = job.claimedAt.getTime() - (await setup.queue.get(id))!.dueAt!.getTime();
      expect(late).toBeGreaterThanOrEqual(0);
      expect(late).toBeLessThan(400);
    }
  });

  it('that is due earlier wakes a worker that sleeps for a later one', async () => {
    const setup = await idleWorker();
    const isFast = await oneIsFast(setup.worker, async () => {
      await setup.queue.enqueue(['later'], { delayMs: LATER_MS });
      await idle(setup.redis);
      return async () => (await setup.queue.enqueue(['sooner'], { delayMs: 50 })).id;
    });
    expect(isFast).toBe(true);
  });

  it('that is brought forward wakes a worker that sleeps for its old time', async () => {
    const setup = await idleWorker();
    const isFast = await oneIsFast(setup.worker, async () => {
      const { id } = await setup.queue.enqueue(['later'], { delayMs: LATER_MS });
      await idle(setup.redis);
      return async () => {
        await setup.queue.reschedule(id, { delayMs: 50 });
        return id;
      };
    });
    expect(isFast).toBe(true);
  });

  it('is promoted though all are busy, and started when one is free', async () => {
    const queue = newQueue();
    const busy = gate();
    await queue.enqueue('busy');
    const handler = (job: Job) => (job.payload === 'busy' ? busy.promise : undefined);
    const worker = await startWorker(queue, handler, { perQueue: 1, sweepIntervalMs: 30 });
    await worker.event('started');
    const { id } = await queue.enqueue(['delayed'], { delayMs: 20 });
    await eventually(async () => (await queue.get(id))!.status === 'pending');
    busy.open();
    await worker.event('completed', 2);
  });
});

describe('many queues', () => {
  it('wake one worker each, though another queue is always busy', async () => {
    const redis = namedConnection();
    const [busy, quiet] = [newQueue({}, redis), newQueue({}, redis)];
    const over = new AbortController();
    const worker = await startWorker([
      { queue: busy, concurrency: 5, handlers: { [busy.name]: oneTurn } },
      { queue: quiet, concurrency: 5, handlers: { [quiet.name]: () => undefined } },
    ]);
    const load = (async () => {
      while (!over.signal.aborted) {
        await busy.enqueueMany(Array.from({ length: 50 }, (_, i) => ({ payload: i })));
        await eventually(async () => over.signal.aborted || (await busy.stats()).pending < 200);
      }
    })();
    await worker.event('completed', 50);
    const times: number[] = [];
    for (let i = 0; i < 10; i++) {
      const begun = performance.now();
      const { id } = await quiet.enqueue(i);
      await worker.event('started', 1, { id });
      times.push(performance.now() - begun);
    }
    over.abort();
    await load;
    expect(times.toSorted((a, b) => a - b)[5]).toBeLessThan(100);
    expect(Math.max(...times)).toBeLessThan(FAST_MS);
  });

  it('are all served, also where there are more than one wait can claim for', async () => {
    const redis = namedConnection();
    const queues = Array.from({ length: 12 }, () => newQueue({}, redis));
    const list = queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } }));
    const worker = await startWorker(list);
    const times: number[] = [];
    for (const queue of [...queues, ...queues.toReversed()]) {
      await idle(redis);
      const begun = performance.now();
      const { id } = await queue.enqueue({});
      await worker.event('started', 1, { id });
      times.push(performance.now() - begun);
    }
    expect(times.toSorted((a, b) => a - b)[12]).toBeLessThan(200);
  });
});

function oneTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

let seeded = 0;

/**
 * Makes a job that another worker holds. It is written as claimed, so that the idle worker cannot take it first.
 */
async function claimedElsewhere({ queue, redis }: { queue: JobQueue; redis: Redis }): Promise<ClaimedJob> {
  const { keys } = await inside(queue).scripts();
  const ref = { id: `seeded-${++seeded}`, token: 'other-token', fence: 1_000_000 + seeded };
  const hash = { id: ref.id, name: queue.name, payload: '{}', status: 'processing', attempts: 1 };
  const claim = { claim_token: ref.token, fence: ref.fence, enqueued_at_ms: Date.now(), claimed_at_ms: Date.now() };
  await redis
    .multi()
    .hset(keys.job(ref.id), { ...hash, ...claim, max_attempts: 20, max_crashes: 20 })
    .zadd(keys.claims, Date.now() + 3_600_000, ref.id)
    .exec();
  return { ...ref, attempt: 1, options: {} } as ClaimedJob;
}

describe('a wait', () => {
  it.each([
    ['a second', {}, 1],
    ['a quarter of the visibility timeout, where that is less', { visibilityMs: 1_000 }, 0.25],
  ])('lasts %s', async (_, options, seconds) => {
    const { queue, redis } = await idleWorker(options);
    const waits = jest.spyOn(Redis.prototype, 'bzpopminBuffer');
    await queue.enqueue({});
    await eventually(() => waits.mock.calls.some((call) => String(call[0]).includes(queue.name)));
    await idle(redis);
    expect(waits.mock.calls.findLast((call) => String(call[0]).includes(queue.name))!.at(-1)).toBe(seconds);
  });
});
