// All workers are replaced one after the other while jobs come in, as in a deployment.
import { expect, it } from '@jest/globals';
import { connect } from '../../support/redis/redis.js';
import { Traffic } from '../../support/faults/traffic.js';
import { eventually } from '../../support/faults/wait.js';
import { WorkerProcess } from '../../support/worker/worker-process.js';
import { newQueue } from '../../support/worker/workers.js';

it('a rolling restart of all workers loses, doubles and delays nothing', async () => {
  const queue = newQueue();
  const start = () => WorkerProcess.start({ queue: queue.name, workMs: 20 });
  const fleet = [await start(), await start()];
  const all = [...fleet];
  const traffic = new Traffic(newQueue({}, connect(), queue.name), { everyMs: 30 });
  await traffic.more(10);
  for (let turn = 0; turn < 2; turn++) {
    const next = await start();
    all.push(next);
    fleet.push(next);
    await fleet.shift()!.signal('SIGTERM');
    await traffic.more(10);
  }
  await traffic.settle(connect());
  const ends = () => all.flatMap(({ events }) => events.filter(({ type }) => type === 'completed'));
  // The server knows of an end before the process tells of it.
  await eventually(() => ends().length >= traffic.acknowledged.length);
  const completed = ends();
  expect(completed.map(({ id }) => id).toSorted()).toEqual(traffic.acknowledged.toSorted());
  expect(completed.every(({ attempt }) => attempt === 1)).toBe(true);
  const { totals } = await queue.stats();
  expect(totals.completed).toBe(traffic.acknowledged.length);
  expect(totals.reclaimed ?? 0).toBe(0);
  await Promise.all(fleet.map((worker) => worker.signal('SIGTERM')));
}, 180_000);
