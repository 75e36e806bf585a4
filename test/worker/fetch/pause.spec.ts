import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { ScriptStore } from '#memory/script-store.js';
import { JobQueue } from '#queue/job-queue.js';
import type { Job } from '#worker/handlers/job.js';
import { eventually, gate, sleep } from '../../support/faults/wait.js';
import {
  connectionsOf,
  idle,
  namedConnection,
  newQueue,
  startWorker,
  TestWorker,
} from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

/** Shows that nothing happens: longer than the longest wait of an idle worker. */
const LONGER_THAN_A_WAIT_MS = 1_200;

const served = (queue: JobQueue) => ({ queue, handlers: { [queue.name]: () => undefined } });

describe('a local pause', () => {
  it('touches no job from then on, not even for a moment, until the resume', async () => {
    const redis = namedConnection();
    const queue = newQueue({}, redis);
    const worker = await startWorker(queue);
    await idle(redis);
    worker.worker.pause();
    await eventually(async () => !(await connectionsOf(redis)).some((line) => /flags=\w*b/.test(line)));
    const { id } = await queue.enqueue({});
    await sleep(LONGER_THAN_A_WAIT_MS);
    expect(await queue.get(id)).toMatchObject({ status: 'pending', attempts: 0, interruptions: 0 });
    worker.worker.resume();
    await worker.event('completed');
  });

  it.each(['mail', 'mail-mail', 'mail-mail-mail'])(
    'of the queue %s leaves queues with like names alone',
    async (paused) => {
      const store = new ScriptStore();
      const queues = ['mail', 'mail-mail', 'mail-mail-mail'].map((name) => new JobQueue(store, name));
      const worker = await startWorker(queues.map(served));
      worker.worker.pause(paused);
      await Promise.all(queues.map((queue) => queue.enqueue({})));
      await worker.event('completed', 2);
      expect(worker.events.filter(({ type }) => type === 'completed').map(({ job }) => job.queue)).not.toContain(
        paused,
      );
      worker.worker.resume(paused);
      await worker.event('completed', 3);
    },
  );

  it('leaves the jobs after it out of the trace of the request that ended it', async () => {
    const request = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const queue = newQueue();
    const worker = await startWorker(queue, () => void seen.push(request.getStore()));
    worker.worker.pause();
    request.run('of a request', () => worker.worker.resume());
    await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    await worker.event('completed', 2);
    expect(seen).toEqual([undefined, undefined]);
  });

  it('before the start holds, for one queue or all, until the resume', async () => {
    const [paused, other] = [newQueue(), newQueue()];
    const test = new TestWorker([served(paused), served(other)], {});
    test.worker.pause(paused.name);
    const { id } = await paused.enqueue({});
    await other.enqueue({});
    await test.worker.start();
    await test.event('completed');
    expect(await paused.get(id)).toMatchObject({ status: 'pending', attempts: 0, interruptions: 0 });
    test.worker.resume(paused.name);
    await test.event('completed', 1, { id });
    const resting = new TestWorker([served(paused)], {});
    resting.worker.pause();
    await resting.worker.start();
    resting.worker.resume();
    await test.worker.stop();
    await paused.enqueue({});
    await resting.event('completed');
  });

  it('lets running handlers continue', async () => {
    const queue = newQueue({ visibilityMs: 600 });
    const finish = gate<string>();
    const { id } = await queue.enqueue({});
    const worker = await startWorker(queue, () => finish.promise, { sweepIntervalMs: 50 });
    await worker.event('started');
    worker.worker.pause();
    const { keys } = await inside(queue).scripts();
    const expiry = async () => Number(await (inside(queue).connection.client as Redis).zscore(keys.claims, id));
    const claimedUntil = await expiry();
    await eventually(async () => (await expiry()) > claimedUntil + 900); // far beyond its claim: the heartbeat continues
    finish.open('done');
    await worker.event('completed');
    expect(await queue.get(id)).toMatchObject({ attempts: 1, result: 'done' });
  });

  it('of one queue leaves the others alone', async () => {
    const [paused, other] = [newQueue(), newQueue()];
    const seen: string[] = [];
    const note = (job: Job) => void seen.push(job.queue);
    const worker = await startWorker([paused, other].map((queue) => ({ queue, handlers: { [queue.name]: note } })));
    worker.worker.pause(paused.name);
    await paused.enqueue({});
    await other.enqueue({});
    await worker.event('completed');
    expect(seen).toEqual([other.name]);
    worker.worker.resume(paused.name);
    await worker.event('completed', 2);
    expect(seen).toEqual([other.name, paused.name]);
  });
});

it('a pause of the queue holds for every worker, takes jobs in, and lets due ones wait', async () => {
  const queue = newQueue();
  const workers = [await startWorker(queue), await startWorker(queue)];
  await queue.pause();
  await queue.enqueue({});
  await queue.enqueue({}, { delayMs: 20 });
  await sleep(LONGER_THAN_A_WAIT_MS);
  expect(workers.map((worker) => worker.count('started'))).toEqual([0, 0]);
  expect((await queue.stats()).oldestPendingAgeMs).toBeGreaterThan(1_000);
  await queue.resume();
  await eventually(() => workers[0]!.count('completed') + workers[1]!.count('completed') === 2);
});
