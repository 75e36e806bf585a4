// A cancel reaches a running handler at once in its process, and within a second from any other. Heartbeats come every 20 minutes here.
import { describe, expect, it } from '@jest/globals';
import { JobCancelledError } from '#queue/errors/errors.js';
import type { Job } from '#worker/handlers/job.js';
import { sameQueue } from '../../support/queue/core-queue.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { eventually, gate, within } from '../../support/faults/wait.js';
import { connectionsOf, idle, namedConnection, newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

const OPTIONS = { visibilityMs: 3_600_000 };
/** The bound of a promised second on a busy machine. */
const SECOND_MS = 2_000;

/** Makes a handler whose jobs run until they are aborted, and keeps their reasons. */
function untilAborted() {
  const aborted = new Map<string, { promise: Promise<Error>; reason?: Error }>();
  const handler = (job: Job) => {
    const ended = gate<Error>();
    aborted.set(job.id, { promise: ended.promise });
    return new Promise((_, reject) => {
      job.signal.addEventListener('abort', () => {
        ended.open(job.signal.reason as Error);
        reject(job.signal.reason as Error);
      });
    });
  };
  return { handler, aborted };
}

describe('a cancel of a running job', () => {
  it('aborts its signal before the call returns, in the process that runs it, also by another JobQueue', async () => {
    const queue = newQueue(OPTIONS);
    const same = newQueue(OPTIONS, inside(queue).connection.client, queue.name);
    const { handler, aborted } = untilAborted();
    const worker = await startWorker(queue, handler);
    for (const canceller of [queue, same]) {
      const { id } = await queue.enqueue({});
      await worker.event('started', canceller === queue ? 1 : 2);
      let reason: Error | undefined;
      void aborted.get(id)!.promise.then((error) => (reason = error));
      expect(await canceller.cancel(id)).toBe('requested');
      expect(reason).toEqual(new JobCancelledError(id));
      await worker.event('cancelled', 1, { id });
    }
  });

  it.each([
    ['while slots are free', 10],
    ['while all slots are busy', 1],
  ])('aborts it within a second from another process, %s', async (_, perQueue) => {
    const redis = namedConnection();
    const queue = newQueue(OPTIONS, redis);
    const { handler, aborted } = untilAborted();
    const worker = await startWorker(queue, handler, { perQueue });
    const other = sameQueue(queue, OPTIONS);
    for (let round = 1; round <= 3; round++) {
      const { id } = await queue.enqueue({});
      await worker.event('started', round);
      expect(await other.cancel(id)).toBe('requested');
      expect(await within(SECOND_MS, 'the abort', aborted.get(id)!.promise)).toEqual(new JobCancelledError(id));
      await worker.event('cancelled', round);
    }
    expect(await connectionsOf(redis)).toHaveLength(2);
  });

  it('reaches each queue of a worker, whose slots are those of the process', async () => {
    const redis = connect();
    const queues = [newQueue(OPTIONS, redis), newQueue(OPTIONS, redis), newQueue(OPTIONS, redis)];
    const { handler, aborted } = untilAborted();
    const list = queues.map((queue) => ({ queue, handlers: { [queue.name]: handler } }));
    const worker = await startWorker(list, undefined, { concurrency: 3 });
    const ids = await Promise.all(queues.map(async (queue) => (await queue.enqueue({})).id));
    await worker.event('started', 3);
    await Promise.all(queues.map((queue, i) => sameQueue(queue, OPTIONS).cancel(ids[i]!)));
    const all = Promise.all(ids.map((id) => aborted.get(id)!.promise));
    await within(SECOND_MS, 'the aborts', all);
    await worker.event('cancelled', 3);
  });

  it('aborts a hundred that are cancelled together', async () => {
    const queue = newQueue(OPTIONS);
    const { handler, aborted } = untilAborted();
    const worker = await startWorker(queue, handler, { perQueue: 100 });
    const ids = (await queue.enqueueMany(Array.from({ length: 100 }, () => ({ payload: 1 })))).map(({ id }) => id);
    await worker.event('started', 100);
    const other = sameQueue(queue, OPTIONS);
    await Promise.all(ids.map((id) => other.cancel(id)));
    await within(SECOND_MS, 'the aborts', Promise.all(ids.map((id) => aborted.get(id)!.promise)));
    await worker.event('cancelled', 100);
  });

  it('leaves nothing of the nudge where no worker listens', async () => {
    const queue = newQueue(OPTIONS);
    const { id } = await queue.enqueue({});
    await queue.claim({ worker: 'by-hand' });
    await queue.cancel(id);
    const { keys } = await inside(queue).scripts();
    expect(await connect().pttl(keys.nudge('by-hand'))).toBeGreaterThan(0);
  });

  it('is delivered by the heartbeat where the nudge is lost', async () => {
    const queue = newQueue({ visibilityMs: 600 });
    const { handler, aborted } = untilAborted();
    const worker = await startWorker(queue, handler);
    const { id } = await queue.enqueue({});
    await worker.event('started');
    const { keys } = await inside(queue).scripts();
    await connect().hset(keys.job(id), 'cancel_requested_at_ms', Date.now()); // as the script does, without a nudge
    expect(await aborted.get(id)!.promise).toEqual(new JobCancelledError(id));
    await worker.event('cancelled');
  });

  it('costs a worker whose slots are all busy no more than a wait a second', async () => {
    const { url } = await startOwnRedis(); // MONITOR of ioredis fails at times where others are at work
    const redis = connect({ connectionName: 'busy', maxRetriesPerRequest: null }, url);
    const queue = newQueue(OPTIONS, redis);
    const finish = gate();
    const worker = await startWorker(queue, () => finish.promise, { perQueue: 1 });
    await queue.enqueue({});
    await worker.event('started');
    await idle(redis); // listens
    let waits = 0;
    const monitor = await connect({}, url).monitor();
    monitor.on('monitor', (_time: string, args: string[]) => {
      waits += Number(/^bzpopmin$/i.test(args[0]!) && args.some((arg) => arg.includes(queue.name)));
    });
    await eventually(() => waits >= 1);
    const [begun, before] = [performance.now(), waits];
    await eventually(() => waits >= before + 2);
    expect(performance.now() - begun).toBeGreaterThan(1_900);
    monitor.disconnect();
    finish.open();
    await worker.event('completed');
    await queue.enqueue({});
    await worker.event('completed', 2);
  });
});
