// The limits of a queue are those of its workers. They hold in any process that sweeps it, cancels its jobs or finds its dead claims.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { silentLogger } from '#queue/runtime/logger.js';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { Worker } from '#worker/worker.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';
import type { TestQueue } from '../../support/queue/queue-state.js';

const DAY = 86_400_000;
const LARGE = {
  completedHistory: 9,
  cancelledHistory: 9,
  failedHistory: 9,
  deadLetterCap: 9,
  resultTtlMs: 7 * DAY,
  cancelledTtlMs: 9 * DAY,
};
const SMALL = {
  completedHistory: 1,
  cancelledHistory: 1,
  failedHistory: 1,
  deadLetterCap: 1,
  resultTtlMs: 60_000,
  cancelledTtlMs: 60_000,
};

/** Starts a worker that announces the queue as its process knows it, and stops it. */
async function visit(queue: JobQueue): Promise<void> {
  const worker = new Worker([{ queue, handlers: { another: () => undefined } }], { sweepIntervalMs: 0 });
  await worker.start();
  await worker.stop();
}

/** Ends two jobs in each way. */
async function endInEachWay(queue: JobQueue): Promise<void> {
  for (const i of [1, 2]) {
    await queue.enqueue(i, { id: `completed-${i}` });
    await queue.complete((await queue.claim())!);
    await queue.enqueue(i, { id: `failed-${i}` });
    await queue.fail((await queue.claim())!, new Error('no'), { final: true });
    await queue.enqueue(i, { id: `cancelled-${i}` });
    await queue.cancel(`cancelled-${i}`);
  }
}

/** Sweeps as a process that sweeps often, and leaves no tidying to another. */
async function sweep(queue: JobQueue): Promise<void> {
  await new Sweeper([queue], 1, silentLogger).runOnce();
}

function lives(state: TestQueue, ...ids: string[]): Promise<number[]> {
  return Promise.all(ids.map((id) => state.redis.pttl(state.keys.job(id))));
}

/** Makes a queue with two jobs of each outcome, and the same queue in another process. */
async function inTwoProcesses(options: QueueOptions, others: QueueOptions) {
  const { queue, state } = coreQueue(options);
  await endInEachWay(queue);
  return { queue, state, other: sameQueue(queue, others) };
}

describe('a process whose options keep less than those of the worker', () => {
  it('sweeps away nothing that the worker keeps', async () => {
    const { queue, state, other } = await inTwoProcesses(LARGE, { ...SMALL, deadLetterAgeMs: 1 });
    await visit(queue);
    await sweep(other);
    expect(await other.stats()).toMatchObject({ completed: 2, failed: 2, cancelled: 2 });
    const [completed, cancelled] = await lives(state, 'completed-1', 'cancelled-1');
    expect(completed).toBeGreaterThan(6 * DAY);
    expect(cancelled).toBeGreaterThan(8 * DAY);
    expect(await state.redis.llen(state.keys.failed)).toBe(2);
  });

  it('cancels and buries as the worker would', async () => {
    const { queue, state, other } = await inTwoProcesses(LARGE, SMALL);
    await visit(queue);
    await other.enqueue(3, { id: 'cancelled-3' });
    await other.cancel('cancelled-3');
    expect((await lives(state, 'cancelled-3'))[0]).toBeGreaterThan(8 * DAY);
    await other.enqueue(3, { id: 'dies', maxCrashes: 1 });
    await queue.claim();
    await state.expireClaims('dies');
    await sweep(other);
    expect(await other.stats()).toMatchObject({ failed: 3, cancelled: 3 });
  });

  it('goes by its own where no worker has announced any', async () => {
    const { other } = await inTwoProcesses(LARGE, SMALL);
    await sweep(other);
    expect(await other.stats()).toMatchObject({ completed: 1, failed: 1, cancelled: 1 });
  });
});

it('where two workers differ, the one that spoke last is right', async () => {
  const { queue, other } = await inTwoProcesses(LARGE, SMALL);
  await visit(other);
  await visit(queue);
  await sweep(other);
  expect(await queue.stats()).toMatchObject({ completed: 2, failed: 2, cancelled: 2 });
  await visit(other);
  await sweep(queue);
  expect(await queue.stats()).toMatchObject({ completed: 1, failed: 1, cancelled: 1 });
});
