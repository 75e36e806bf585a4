// What ends the sleep of an idle worker. Without the wake-up its blocking wait would last to its end, up to a second. Each
// wake-up is repeated, and the waits of the worker tell what ended them, however slow the machine is.
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { ClaimedJob } from '#queue/model/job.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { NotedWaits } from '../../support/worker/noted-waits.js';
import { connectionsOf, idle, namedConnection, newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

const ROUNDS = 4;
/** The tries of a round. A wait may end by itself just when the action comes; without the wake-up each does. */
const TRIES = 5;

/** The delay of a job for which a worker sleeps. It looks for jobs once a second anyway. */
const LATER_MS = 900;
/** A wait of this length or more, in s, ended without a job. */
const LONG_S = 0.5;

/** Makes a queue with an idle worker on its own connections. */
async function idleWorker(options = {}, redis = namedConnection()) {
  const queue = newQueue(options, redis);
  const waits = new NotedWaits();
  const worker = await startWorker(queue, (job: Job) => {
    if (job.payload === 'fail') throw new Error('asked to');
  });
  await idle(redis);
  return { queue, redis, worker, waits };
}

type Setup = Awaited<ReturnType<typeof idleWorker>>;

/**
 * Expects that each action brings a job before a wait of the worker has lasted to its end.
 *
 * @param prepare lets the worker sleep, and returns the action, which may resolve to the id of the job
 */
async function expectWakes(
  { redis, worker, waits }: Setup,
  prepare: (round: number) => Promise<() => Promise<unknown>>,
  longS = LONG_S,
): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    let isWoken = false;
    for (let i = 0; i < TRIES && !isWoken; i++) {
      const act = await prepare(round);
      await idle(redis);
      const look = waits.fromNow();
      const started = worker.event('started', worker.count('started') + 1).then(() => !look.lastedFully(longS));
      await act();
      isWoken = await started;
      await eventually(() => worker.worker.running === 0);
    }
    expect({ round, isWoken }).toEqual({ round, isWoken: true });
  }
}

/** Expects the same of actions that need no preparation. */
const expectWake = (setup: Setup, act: (round: number) => Promise<unknown>, longS?: number) =>
  expectWakes(setup, async (round) => () => act(round), longS);

describe('an idle worker is woken by', () => {
  it('an enqueue, plain or urgent', async () => {
    const setup = await idleWorker();
    await expectWake(setup, (i) => setup.queue.enqueue(i, i % 2 ? { priority: 5 } : {}));
  });

  it('a retry that another worker sent back', async () => {
    const setup = await idleWorker();
    await expectWake(setup, async () =>
      setup.queue.fail(await claimedElsewhere(setup), new Error('x'), { delayMs: 0 }),
    );
  });

  it('a release by another worker', async () => {
    const setup = await idleWorker();
    await expectWake(setup, async () => setup.queue.release(await claimedElsewhere(setup)));
  });

  it('a reclaim', async () => {
    const setup = await idleWorker();
    const { keys } = await inside(setup.queue).scripts();
    await expectWake(setup, async () => {
      const job = await claimedElsewhere(setup);
      await setup.redis.zadd(keys.claims, 'XX', 1, job.id);
      await setup.queue.reclaim();
    });
  });

  it('a promotion by hand', async () => {
    const setup = await idleWorker();
    await expectWakes(setup, async (payload) => {
      const { id } = await setup.queue.enqueue(payload, { delayMs: 3_600_000 });
      return () => setup.queue.reschedule(id, { delayMs: 0 });
    });
  });

  it('its own clock at the time of a delayed job, where the server looks at its waits once a second', async () => {
    const server = await startOwnRedis();
    const redis = namedConnection({}, server.url);
    await redis.config('SET', 'hz', '1');
    await redis.config('SET', 'dynamic-hz', 'no').catch(() => undefined); // Valkey 9 has no such setting
    const setup = await idleWorker({}, redis);
    await expectWake(setup, () => setup.queue.enqueue({}, { delayMs: 300 }), 0);
  });

  it('the end of a pause', async () => {
    const setup = await idleWorker();
    await expectWakes(setup, async () => {
      await setup.queue.pause();
      await setup.queue.enqueue({});
      return () => setup.queue.resume();
    });
    expect((await setup.queue.stats()).pausedAt).toBeNull();
  });

  it('a redrive', async () => {
    const setup = await idleWorker({ maxAttempts: 1 });
    const { id } = await setup.queue.enqueue('fail');
    await setup.worker.event('failed');
    await expectWake(setup, async () => {
      const failed = setup.worker.event('failed', setup.worker.count('failed') + 1);
      await setup.queue.deadLetters.redriveMany([id]);
      await failed;
    });
  });

  it('an error that passes, after which it waits again, without a word', async () => {
    const setup = await idleWorker();
    await expectWake(setup, async () => {
      // Between two waits, of a second each, there is none for a moment.
      await eventually(async () => {
        const waits = (await connectionsOf(setup.redis)).find((line) => /flags=\w*b/.test(line));
        const [, id] = /^id=(\d+)/.exec(waits ?? '') ?? [];
        return id && (await setup.redis.client('UNBLOCK', id, 'ERROR')) === 1;
      });
      await setup.queue.enqueue({});
    });
    expect(setup.worker.warnings).toEqual([]);
  });

  it('the end of a local pause', async () => {
    const setup = await idleWorker();
    await expectWake(setup, async () => {
      setup.worker.worker.pause();
      await setup.queue.enqueue({});
      await sleep(30); // shows that nothing starts
      expect(setup.worker.worker.running).toBe(0);
      setup.worker.worker.resume();
    });
  });
});

describe('a delayed job', () => {
  it('is waited for no longer than to its time, and never starts before', async () => {
    const { queue, redis, worker, waits } = await idleWorker();
    for (const delayMs of [40, 120, 310, 700]) {
      await idle(redis);
      const look = waits.fromNow();
      const started = worker.event('started', worker.count('started') + 1);
      const last = started.then(() => look.waits().findLast(({ endedBy }) => endedBy !== undefined));
      const { id } = await queue.enqueue({}, { delayMs });
      expect((await last)!.seconds).toBeLessThanOrEqual(delayMs / 1_000);
      const { job } = await started;
      expect(job.claimedAt.getTime()).toBeGreaterThanOrEqual((await queue.get(id))!.dueAt!.getTime());
    }
  });

  it('that is due earlier wakes a worker that sleeps for a later one', async () => {
    const setup = await idleWorker();
    await expectWakes(setup, async () => {
      await setup.queue.clean('scheduled');
      await setup.queue.enqueue(['later'], { delayMs: LATER_MS });
      return () => setup.queue.enqueue(['sooner'], { delayMs: 50 });
    });
  });

  it('that is brought forward wakes a worker that sleeps for its old time', async () => {
    const setup = await idleWorker();
    await expectWakes(setup, async () => {
      const { id } = await setup.queue.enqueue(['later'], { delayMs: LATER_MS });
      return () => setup.queue.reschedule(id, { delayMs: 50 });
    });
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

/** Enqueues a job, and returns whether the marker of its queue ended a wait before it started. */
async function wakesBy(queue: JobQueue, { worker, waits }: Pick<Setup, 'worker' | 'waits'>): Promise<boolean> {
  const { keys } = await inside(queue).scripts();
  const look = waits.fromNow();
  const { id } = await queue.enqueue({});
  await worker.event('started', 1, { id });
  return look.waits().some(({ endedBy }) => endedBy === keys.wake);
}

/** Expects of each queue that the marker of an enqueue ends a wait, in one of some tries. */
async function expectMarkers(queues: readonly JobQueue[], setup: Setup): Promise<void> {
  for (const [i, queue] of queues.entries()) {
    let isWoken = false;
    for (let n = 0; n < TRIES && !isWoken; n++) {
      await idle(setup.redis);
      isWoken = await wakesBy(queue, setup);
    }
    expect({ i, isWoken }).toEqual({ i, isWoken: true });
  }
}

describe('many queues', () => {
  it('wake one worker each, though another queue is always busy', async () => {
    const redis = namedConnection();
    const [busy, quiet] = [newQueue({}, redis), newQueue({}, redis)];
    const over = new AbortController();
    const waits = new NotedWaits();
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
    await expectMarkers(Array<JobQueue>(10).fill(quiet), { queue: quiet, redis, worker, waits });
    over.abort();
    await load;
  });

  it('are all served, also where there are more than one wait can claim for', async () => {
    const redis = namedConnection();
    const queues = Array.from({ length: 12 }, () => newQueue({}, redis));
    const list = queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } }));
    const waits = new NotedWaits();
    const worker = await startWorker(list);
    await expectMarkers([...queues, ...queues.toReversed()], { queue: queues[0]!, redis, worker, waits });
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

it.each([
  ['a second', {}, 1],
  [
    'a share of the visibility timeout below that of a heartbeat, where that is less',
    { visibilityMs: 1_000 },
    0.32,
  ],
])('a wait lasts %s', async (_, options, seconds) => {
  const { queue, redis, waits } = await idleWorker(options);
  const { keys } = await inside(queue).scripts();
  await queue.enqueue({});
  await idle(redis);
  expect(waits.lastFor(keys.wake)!.seconds).toBe(seconds);
});
