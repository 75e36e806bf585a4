// A stop that comes while the worker still starts leaves nothing of it on the server.
import { expect, it, jest } from '@jest/globals';
import { DeclaredTopics } from '#queue/register/declared-topics.js';
import type { JobQueue } from '#queue/job-queue.js';
import type { RedisCall } from '#queue/transport/script-runner.js';
import { Worker } from '#worker/worker.js';
import { gate } from '../support/faults/wait.js';
import { newQueue } from '../support/worker/workers.js';
import { inside } from '../support/queue/inside.js';
import { connect } from '../support/redis/redis.js';

const STEPS = 40;

function newWorker(queue = newQueue()) {
  const worker = new Worker([{ queue, handlers: { [queue.name]: () => undefined } }], { sweepIntervalMs: 0 });
  return { queue, worker };
}

it('takes the announcement back, whenever the stop comes', async () => {
  const left: number[] = [];
  for (let steps = 0; steps < STEPS; steps++) {
    const { queue, worker } = newWorker();
    const started = worker.start();
    for (let i = 0; i < steps; i++) await new Promise(setImmediate);
    await worker.stop();
    await started;
    if ((await queue.stats()).workers > 0) left.push(steps);
  }
  expect(left).toEqual([]);
});

/** Holds the calls of one script of a queue, until the answer is let through. */
function hold(queue: JobQueue, isHeld: (call: RedisCall<unknown>) => boolean) {
  const [asked, answer] = [gate(), gate()];
  const run = inside(queue).runner.run.bind(inside(queue).runner);
  inside(queue).runner.run = async (call) => {
    if (isHeld(call)) {
      asked.open();
      await answer.promise;
    }
    return run(call);
  };
  return { asked, answer };
}

it('takes an announcement back that reaches the server only after the stop has ended', async () => {
  const { queue, worker } = newWorker();
  const { asked, answer } = hold(queue, (call) => call.script === 'workerRegister' && call.args[1] === '1');
  const started = worker.start();
  await asked.promise;
  await worker.stop({ timeoutMs: 50 });
  answer.open();
  await started;
  expect((await queue.stats()).workers).toBe(0);
});

it('announces nothing if the stop comes while it declares its subscriptions', async () => {
  const { queue, worker } = newWorker(newQueue({}, connect()));
  const { name } = queue;
  DeclaredTopics.of(queue.store).add(queue, { topic: name, name: 'receipts', queue: name });
  const { asked, answer } = hold(queue, (call) => call.script === 'topicDeclare');
  const started = worker.start();
  await asked.promise;
  await worker.stop({ timeoutMs: 50 });
  const intervals = jest.spyOn(globalThis, 'setInterval');
  answer.open();
  await started;
  expect(intervals).not.toHaveBeenCalled();
});
