// A worker of many queues looks for jobs without a marker by one call for all of them. It claims where it finds some.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { IdleLooks } from '#worker/fetch/idle-wait.js';
import type { QueueRunner } from '#worker/runner/queue-runner.js';
import type { StoreCalls } from '#queue/store/store-calls.js';
import { connect } from '../../support/redis/redis.js';
import { systemClock } from '#queue/runtime/clock.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Worker } from '#worker/worker.js';
import { eventually } from '../../support/faults/wait.js';
import { enqueueUnheard } from '../../support/memory/memory-view.js';
import { inside } from '../../support/queue/inside.js';
import { idle, namedConnection, newQueue, startWorker } from '../../support/worker/workers.js';

const MANY = 12;

async function keysOf(queue: JobQueue) {
  return (await inside(queue).scripts()).keys;
}

function served(queues: readonly JobQueue[]) {
  return queues.map((queue) => ({ queue, handlers: { [queue.name]: () => undefined } }));
}

/** Returns a store of a worker that notes its claims, and the store of another process. */
function observedStores() {
  const server = new ScriptServer(() => Date.now());
  const claims: string[] = [];
  const link = async <Reply>(script: string, run: () => Reply) => {
    if (script === 'attemptClaim') claims.push(script);
    return run();
  };
  return {
    store: new ScriptStore(systemClock, { server, link }),
    producer: new ScriptStore(systemClock, { server }),
    claims,
  };
}

it('finds jobs without a marker: of clients of the Redis pattern, due ones, and after a lost marker', async () => {
  const redis = namedConnection();
  const queues = Array.from({ length: MANY }, () => newQueue({}, redis));
  const worker = await startWorker(served(queues));
  await idle(redis);
  const foreign = await keysOf(queues[3]!);
  await redis.hset(foreign.job('foreign'), { id: 'foreign', payload: '{}', status: 'pending', attempts: 0 });
  await redis.lpush(foreign.pending, 'foreign');
  await worker.event('completed', 1, { id: 'foreign' });

  await idle(redis);
  const lost = await keysOf(queues[7]!);
  const before = worker.count('completed');
  await redis
    .multi()
    .hset(lost.job('lost'), { name: queues[7]!.name, payload: '{}', status: 'pending', enqueued_at_ms: Date.now() })
    .zadd(lost.scheduled, Date.now(), 'lost')
    .hset(lost.job('lost'), 'status', 'scheduled', 'due_at_ms', Date.now())
    .exec();
  await worker.event('completed', before + 1, { timeoutMs: 10_000 });
});

it('does not claim each second for a job that is scheduled for tomorrow', async () => {
  const { store, producer, claims } = observedStores();
  const queues = Array.from({ length: MANY }, (_, i) => new JobQueue(store, `q${i}`));
  await new JobQueue(producer, 'q5').enqueue({}, { delayMs: 86_400_000 });
  const worker = await startWorker(served(queues));
  await eventually(() => claims.length >= MANY, { what: 'a first claim of each queue' });
  const runners = (worker.worker as unknown as { runners: QueueRunner[] }).runners;
  let found = 0;
  const looks = new IdleLooks({ store, runners, isIdle: () => true, found: () => found++ });
  await eventually(() => runners[5]!.outlook.nextDueInMs !== undefined, { what: 'the reply of the claim' });
  await looks.runOnce();
  expect(found).toBe(0);
  await new JobQueue(producer, 'q5').enqueue({});
  await worker.event('completed');
});

it('finds a job that is due before the one that the worker waits for, if its wake was lost', async () => {
  const clock = new VirtualClock();
  const store = new ScriptStore(clock);
  const queues = Array.from({ length: MANY }, (_, i) => new JobQueue(store, `q${i}`));
  const started: string[] = [];
  const list = queues.map((queue) => ({
    queue,
    handlers: { [queue.name]: ({ id }: { id: string }) => void started.push(id) },
  }));
  const worker = new Worker(list, { sweepIntervalMs: 0 });
  await queues[5]!.enqueue({}, { delayMs: 86_400_000 });
  const starting = worker.start();
  await clock.advance(5_000);
  await starting;
  await enqueueUnheard(queues[5]!, { id: 'earlier', delayMs: 500 });
  await clock.advance(1_510);
  expect(started).toEqual(['earlier']);
  const stopping = worker.stop({ timeoutMs: 0 });
  await clock.advance(1_000);
  await stopping;
});

it('looks at most once a second at each place of each queue, with a bounded number of keys', async () => {
  const seen: [queues: number, places: number][] = [];
  const store = new ScriptStore();
  store.queues.look = async (queues, places) => {
    seen.push([queues.length, places.length]);
    return [];
  };
  const runners = Array.from({ length: 1_200 }, () => ({ calls: {} }) as QueueRunner);
  const idleLooks = new IdleLooks({ store, runners, isIdle: () => true, found: () => undefined });
  await idleLooks.runOnce().catch(() => undefined);
  expect(seen).toEqual([
    [1_200, 1],
    [1_200, 3],
  ]);
});

it('looks at all queues in turn, if they are too many for one look', async () => {
  const looked = new Set<StoreCalls>();
  const store = new ScriptStore();
  store.queues.look = async (queues, places) => {
    if (places.includes('due')) for (const queue of queues) looked.add(queue);
    return [];
  };
  const runners = Array.from({ length: 3_000 }, () => ({ calls: {} }) as QueueRunner);
  const idleLooks = new IdleLooks({ store, runners, isIdle: () => true, found: () => undefined });
  for (let i = 0; i < 3; i++) await idleLooks.runOnce().catch(() => undefined);
  expect(looked.size).toBe(3_000);
});

it('claims only from the queue whose marker woke it', async () => {
  const { store, producer, claims } = observedStores();
  const queues = Array.from({ length: MANY }, (_, i) => new JobQueue(store, `q${i}`));
  const worker = await startWorker(served(queues));
  await eventually(() => claims.length === MANY, { what: 'a first claim of each queue' });
  claims.length = 0;
  await new JobQueue(producer, 'q5').enqueue({});
  await worker.event('completed');
  expect(claims.length).toBeLessThanOrEqual(3); // for the job, for what may be left, and one of a look
});

it('gets a cancel of a job that it found during a wait', async () => {
  const redis = namedConnection();
  const queues = Array.from({ length: MANY }, () => newQueue({ visibilityMs: 60_000 }, redis));
  const queue = queues[6]!;
  const worker = await startWorker(
    queues.map((each) => ({
      queue: each,
      handlers: { [each.name]: (job) => new Promise((resolve) => job.signal.addEventListener('abort', resolve)) },
    })),
  );
  await idle(redis);
  const keys = await keysOf(queue);
  await redis.hset(keys.job('late'), {
    name: queue.name,
    payload: '{}',
    status: 'pending',
    enqueued_at_ms: Date.now(),
  });
  await redis.lpush(keys.pending, 'late'); // without a marker, so the wait goes on
  await worker.event('started', 1, { id: 'late' });
  await idle(redis);
  await newQueue({}, connect(), queue.name).cancel('late');
  await worker.event('cancelled', 1, { id: 'late', timeoutMs: 15_000 }); // the heartbeat comes after 20 s
});

it('finds a job that became due while other queues use all slots of the process', async () => {
  const clock = new VirtualClock();
  const store = new ScriptStore(clock);
  const queues = Array.from({ length: MANY }, (_, i) => new JobQueue(store, `q${i}`));
  const started: string[] = [];
  const handle = (job: { queue: string }) => {
    started.push(job.queue);
    return new Promise<void>((resolve) => clock.setTimeout(resolve, 100));
  };
  const list = queues.map((queue) => ({ queue, handlers: { [queue.name]: handle } }));
  const worker = new Worker(list, { concurrency: 1, sweepIntervalMs: 0 });
  await queues[5]!.enqueue({}, { delayMs: 10_000 });
  const starting = worker.start();
  await clock.advance(5_000); // each queue was claimed from
  await starting;
  await queues[0]!.enqueueMany(Array.from({ length: 200 }, () => ({ payload: {} })));
  await clock.advance(8_000);
  expect(started).toContain('q0');
  expect(started).toContain('q5');
  const stopping = worker.stop({ timeoutMs: 0 });
  await clock.advance(1_000);
  await stopping;
});
