// A process of an older version leaves a queue alone that a newer version has, and says what to do.
import { describe, expect, it, jest } from '@jest/globals';
import { QueueLayoutError } from '#queue/errors/layout-error.js';
import type { JobQueue } from '#queue/job-queue.js';
import { LAYOUT } from '#queue/scripts/layout.js';
import { Worker } from '#worker/worker.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { expectUnchanged, type TestQueue } from '../../support/queue/queue-state.js';

/** Marks the queue as served by a newer version. */
async function upgrade(state: TestQueue): Promise<void> {
  await state.redis.hset(state.keys.sweep, 'layout', LAYOUT + 1);
}

const REMEDY = `expected a layout of at most ${LAYOUT}, found ${LAYOUT + 1}, which a newer version of nest-job-queue wrote. Upgrade`;

describe('a queue whose keys a newer version wrote', () => {
  it('is refused by a worker at its start', async () => {
    const { queue, state } = coreQueue();
    await upgrade(state);
    const worker = new Worker([{ queue, handlers: { [queue.name]: () => 1 } }]);
    await expectUnchanged(state, () => expect(worker.start()).rejects.toThrow(QueueLayoutError));
    await worker.stop();
  });

  it('is refused by a worker whose process knew the queue before, and its other queues are withdrawn', async () => {
    const { queue, state } = coreQueue();
    const other = coreQueue();
    await queue.stats();
    await upgrade(state);
    const handlers = { job: () => 1 };
    const worker = new Worker([
      { queue, handlers },
      { queue: other.queue, handlers },
    ]);
    await expect(worker.start()).rejects.toThrow(REMEDY);
    expect(await state.redis.exists(state.keys.workers, other.state.keys.workers)).toBe(0);
    await worker.stop();
  });
});

describe('a producer without a worker on such a queue', () => {
  it.each<[string, (queue: JobQueue) => Promise<unknown>]>([
    ['enqueue', (queue) => queue.enqueue({ to: 'ada@example.com' })],
    ['a durable enqueue', (queue) => queue.enqueue(1, { durability: 'replica' })],
    ['enqueueMany', (queue) => queue.enqueueMany([{ payload: 1 }, { payload: 2 }])],
    ['claim', (queue) => queue.claim()],
    ['pause', (queue) => queue.pause()],
    ['a schedule', (queue) => queue.schedules.upsert('nightly', { everyMs: 60_000 })],
    ['stats', (queue) => queue.stats()],
    ['doctor', (queue) => queue.doctor({ repair: true })],
  ])('is refused by %s, and writes nothing', async (_call, ask) => {
    const { queue, state } = coreQueue();
    await upgrade(state);
    await expectUnchanged(state, () => expect(ask(queue)).rejects.toThrow(QueueLayoutError));
    await expect(ask(queue)).rejects.toThrow(REMEDY);
  });

  it('works once the queue has a layout that it knows', async () => {
    const { queue, state } = coreQueue();
    await upgrade(state);
    await expect(queue.enqueue(1)).rejects.toThrow(QueueLayoutError);
    await state.redis.hset(state.keys.sweep, 'layout', LAYOUT);
    await queue.enqueue(2);
    expect(await state.redis.llen(state.keys.pending)).toBe(1);
  });

  it('asks once, however many calls begin together', async () => {
    const { queue, state } = coreQueue();
    const asks = jest.spyOn(state.redis, 'hmget');
    await Promise.all([queue.enqueue(1), queue.enqueue(2), queue.stats()]);
    await queue.enqueue(3);
    expect(asks).toHaveBeenCalledTimes(1);
  });
});

it('a worker announces the layout, and over an older one', async () => {
  const { queue, state } = coreQueue();
  await state.redis.hset(state.keys.sweep, 'layout', LAYOUT - 1);
  const worker = new Worker([{ queue, handlers: { [queue.name]: () => 1 } }]);
  await worker.start();
  expect(await state.redis.hget(state.keys.sweep, 'layout')).toBe(String(LAYOUT));
  await worker.stop();
});
