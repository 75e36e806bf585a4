import { expect, it, jest } from '@jest/globals';
import { silentLogger } from '#queue/runtime/logger.js';
import type { QueueStore, WorkerWait } from '#queue/store/queue-store.js';
import { openIdleWaits } from '#worker/worker.js';
import type { QueueRunner } from '#worker/runner/queue-runner.js';

it('waits for all of 5,000 queues of one server, in commands of at most 3,999 arguments', () => {
  const runners = Array.from({ length: 5_000 }, (_, calls) => ({ calls }) as unknown as QueueRunner);
  const waited: number[][] = [];
  const store = {
    isSharded: false,
    workerWait: jest.fn((_worker: string, calls: number[]) => (waited.push(calls), {} as WorkerWait)),
  } as unknown as QueueStore;

  openIdleWaits(
    {
      worker: 'worker',
      runners,
      store,
      options: { logger: silentLogger } as never,
      capacity: () => Infinity,
      hasNoSlot: () => false,
    },
    { onWake() {}, onLongWait: () => () => {}, onDue() {}, onCancel() {} },
  );

  expect(waited.flat()).toEqual(runners.map(({ calls }) => calls));
  expect(Math.max(...waited.map(({ length }) => length * 2 + 1))).toBeLessThan(4_000); // wakes, cancels, the time
  expect(waited.length).toBeLessThanOrEqual(3);
});
