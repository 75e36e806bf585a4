// What a worker says of itself, as operators read it.
import { hostname } from 'node:os';
import { expect, it } from '@jest/globals';
import { eventually } from '../../support/faults/wait.js';
import { connect } from '../../support/redis/redis.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

it('the detail of a worker is its host, process, version and slots, and since when it runs', async () => {
  const queue = newQueue();
  const before = Date.now() - 5_000;
  await startWorker(queue, undefined, { id: 'w-1', version: '1.4.0', perQueue: 7, concurrency: 5 });
  const [worker, ...others] = await queue.workers();
  expect(others).toEqual([]);
  expect(worker).toEqual({
    id: 'w-1',
    host: hostname(),
    pid: process.pid,
    version: '1.4.0',
    slots: 7,
    processSlots: 5,
    fleet: expect.any(String),
    seenAt: expect.any(Date),
    startedAt: expect.any(Date),
  });
  expect(worker!.startedAt!.getTime()).toBeGreaterThan(before);
});

it('the detail goes with its worker, also with one that died', async () => {
  const queue = newQueue();
  const details = `queue:${queue.name}:worker_details`;
  const first = await startWorker(queue, undefined, { id: 'w-1' });
  await connect().hset(details, 'dead', '1 {}');
  expect((await queue.workers()).map(({ id }) => id)).toEqual(['w-1']);
  await startWorker(queue, undefined, { id: 'w-2' });
  expect((await connect().hkeys(details)).toSorted()).toEqual(['w-1', 'w-2']);
  await first.worker.stop();
  expect((await queue.workers()).map(({ id }) => id)).toEqual(['w-2']);
  expect(await connect().hkeys(details)).toEqual(['w-2']);
});

it('the detail is left out where no worker of ours wrote it', async () => {
  const queue = newQueue();
  await startWorker(queue, undefined, { id: 'w-1' });
  await connect().hset(`queue:${queue.name}:worker_details`, 'w-1', '5 {"host":1}');
  await eventually(async () => (await queue.workers()).length === 1);
  expect(await queue.workers()).toEqual([{ id: 'w-1', seenAt: expect.any(Date) }]);
});

onEachStore('the detail of a worker of many queues', () => {
  it('is the same fleet for workers with the same queues and handlers, in any order', async () => {
    const queues = Array.from({ length: 5 }, () => newQueue());
    const served = queues.map((queue) => ({ queue, handlers: { a: () => undefined, b: () => undefined } }));
    const [first, ...rest] = served;
    await startWorker(served, undefined, { id: 'w-1' });
    await startWorker([...rest.toReversed(), first!], undefined, { id: 'w-2' });
    await startWorker([{ ...first!, handlers: { a: () => undefined } }, ...rest], undefined, { id: 'w-3' });
    await startWorker(rest, undefined, { id: 'w-4' }); // too few queues for turns
    const fleets = new Map((await queues[1]!.workers()).map(({ id, fleet }) => [id, fleet]));
    expect(fleets.get('w-1')).toMatch(/^[\da-f]{16}$/);
    expect(fleets.get('w-2')).toBe(fleets.get('w-1'));
    expect(fleets.get('w-3')).not.toBe(fleets.get('w-1'));
    expect(fleets.get('w-4')).toBeUndefined();
  });
});
