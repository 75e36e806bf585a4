// A process of an older version leaves a queue alone that a newer version has, and says what to do.
import { describe, expect, it } from '@jest/globals';
import { QueueLayoutError } from '#queue/errors/layout-error.js';
import { LAYOUT } from '#queue/scripts/layout.js';
import { Worker } from '#worker/worker.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { expectUnchanged, type TestQueue } from '../../support/queue/queue-state.js';

/** A newer version has served the queue. */
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

it('a worker announces the layout, and over an older one', async () => {
  const { queue, state } = coreQueue();
  await state.redis.hset(state.keys.sweep, 'layout', LAYOUT - 1);
  const worker = new Worker([{ queue, handlers: { [queue.name]: () => 1 } }]);
  await worker.start();
  expect(await state.redis.hget(state.keys.sweep, 'layout')).toBe(String(LAYOUT));
  await worker.stop();
});
