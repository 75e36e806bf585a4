// A stop that comes while the worker still starts leaves nothing of it on the server.
import { expect, it } from '@jest/globals';
import { Worker } from '#worker/worker.js';
import { gate } from '../support/faults/wait.js';
import { newQueue } from '../support/worker/workers.js';
import { inside } from '../support/queue/inside.js';

const STEPS = 40;

function newWorker() {
  const queue = newQueue();
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

it('takes an announcement back that reaches the server only after the stop has ended', async () => {
  const { queue, worker } = newWorker();
  const [asked, answer] = [gate(), gate()];
  const run = inside(queue).runner.run.bind(inside(queue).runner);
  inside(queue).runner.run = async (call) => {
    if (call.script === 'workerRegister' && call.args[1] === '1') {
      asked.open();
      await answer.promise;
    }
    return run(call);
  };
  const started = worker.start();
  await asked.promise;
  await worker.stop({ timeoutMs: 50 });
  answer.open();
  await started;
  expect((await queue.stats()).workers).toBe(0);
});
