// The subscriptions of a process whose declaration fails at first. The workers on a client share its retries.
import { expect, it } from '@jest/globals';
import { DeclaredTopics } from '#queue/register/declared-topics.js';
import { eventually } from '../../support/faults/wait.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { holdTimers } from '../../support/worker/held-timers.js';
import { newQueue, TestWorker } from '../../support/worker/workers.js';

/** Returns workers whose subscription the register does not take until `mend`, because its key has another type. */
async function brokenRegister() {
  const { fire } = holdTimers(10_000);
  const client = connect();
  const prefix = uniqueQueueName('p');
  await client.set(`${prefix}:topics`, 'text of another program');
  const queue = newQueue({ prefix }, client);
  DeclaredTopics.of(queue.store).add(queue, { topic: queue.name, name: 'receipts', queue: queue.name });
  const newWorker = () => new TestWorker([{ queue, handlers: { [queue.name]: () => undefined } }], {}).worker;
  const mend = () => client.del(`${prefix}:topics`);
  const isDeclared = async () => (await client.hexists(`${prefix}:topics`, queue.name)) === 1;
  return { newWorker, mend, fire, isDeclared };
}

it('go on trying where one of two workers on a client stops', async () => {
  const { newWorker, mend, fire, isDeclared } = await brokenRegister();
  const [stopping, staying] = [newWorker(), newWorker()];
  await Promise.all([stopping.start(), staying.start()]);
  await stopping.stop();
  await fire(); // fails again
  await mend();
  await fire();
  await eventually(isDeclared);
});

it('try no more once both have stopped', async () => {
  const { newWorker, mend, fire, isDeclared } = await brokenRegister();
  const workers = [newWorker(), newWorker()];
  await Promise.all(workers.map((worker) => worker.start()));
  await Promise.all(workers.map((worker) => worker.stop()));
  await mend();
  await fire(0);
  expect(await isDeclared()).toBe(false);
});
