// Enqueues of one caller keep their order, also at the moment when the connection becomes ready.
import { expect, it } from '@jest/globals';
import { sleep } from '../../support/faults/wait.js';
import { intercept } from '../../support/faults/intercept.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { connect } from '../../support/redis/redis.js';
import { inside } from '../../support/queue/inside.js';

it('jobs that wait for the connection leave before those that find it ready', async () => {
  const { queue } = coreQueue({}, connect());
  const { store, connection } = inside(queue);
  await store.whenReady();
  let isReady = false;
  let open!: () => void;
  Object.defineProperty(store, 'isReady', { get: () => isReady });
  connection.whenReady = () => new Promise<void>((resolve) => (open = resolve));
  const early = queue.enqueue({ at: 'early' }, { id: 'early' });
  await Promise.resolve();
  await Promise.resolve();
  isReady = true;
  const late = queue.enqueue({ at: 'late' }, { id: 'late' });
  await new Promise(setImmediate);
  open();
  await Promise.all([early, late]);
  expect((await queue.list('pending')).map(({ id }) => id)).toEqual(['early', 'late']);
});

it('the first batch is answered before another leaves, because the server may not know its script', async () => {
  const { queue } = coreQueue();
  let sent = 0;
  let answer!: () => void;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const isSent = new Promise<void>((resolve) => {
    intercept(queue, {
      jobEnqueue: (run) => {
        sent++;
        resolve();
        return sent === 1 ? answered.then(run) : run();
      },
    });
  });
  const first = queue.enqueue({ at: 1 }, { id: 'first' });
  await isSent;
  const second = queue.enqueue({ at: 2 }, { id: 'second' });
  await new Promise(setImmediate);
  expect(sent).toBe(1);
  answer();
  await Promise.all([first, second]);
  expect((await queue.list('pending')).map(({ id }) => id)).toEqual(['first', 'second']);
});

it('a batch that waits for the first one has its time while bytes move, as the first one has', async () => {
  const { queue } = coreQueue({ enqueueTimeoutMs: 50 }, connect());
  const { store } = inside(queue);
  await store.whenReady();
  store.patience = () => () => 50; // bytes move
  intercept(queue, { jobEnqueue: (run) => sleep(200).then(run) });
  const both = [queue.enqueue(null, { id: 'first' }), sleep(0).then(() => queue.enqueue(null, { id: 'second' }))];
  await Promise.all(both);
  expect((await queue.list('pending')).map(({ id }) => id)).toEqual(['first', 'second']);
});
