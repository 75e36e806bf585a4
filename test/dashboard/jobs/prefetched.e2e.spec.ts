// A job that its worker has claimed and not started: no page says that it runs.
import { expect, it } from '@jest/globals';
import { eventually, gate } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';
import { startDashboard } from '../dashboard-app.js';

it('waits for a slot: in the overview, in the list, and in the timeline of its attempts', async () => {
  const name = uniqueQueueName('video');
  const mayView = new Set([undefined, name]);
  const app = await startDashboard({
    dashboard: { queues: [name], can: (_action, _request, { queue: asked }) => mayView.has(asked) },
    jobs: { worker: false },
  });
  const queue = app.queue(name);
  const { promise, open } = gate();
  const { worker } = await startWorker([
    { queue, concurrency: 1, prefetch: 1, handlers: { [name]: () => promise } },
  ]);
  const [runs, waits] = await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
  await eventually(async () => (await queue.stats()).processing === 2);
  await eventually(async () => (await queue.get(runs!.id))?.unstarted === undefined);
  const { body } = await app.get('/api/overview');
  expect(body).toMatchObject({
    overview: { workers: [{ running: [{ id: runs!.id }], prefetched: [{ id: waits!.id }] }] },
  });
  const { body: list } = await app.get(`/api/jobs?queue=${name}&state=processing`);
  const rows = (list as { jobs: { id: string; isPrefetched: boolean }[] }).jobs;
  expect(Object.fromEntries(rows.map(({ id, isPrefetched }) => [id, isPrefetched]))).toEqual({
    [runs!.id]: false,
    [waits!.id]: true,
  });
  const outcomes = async (id: string) => (await app.get(`/api/job?queue=${name}&id=${id}`)).body;
  expect(await outcomes(runs!.id)).toMatchObject({ attemptLog: [{ outcome: 'running' }] });
  expect(await outcomes(waits!.id)).toMatchObject({
    isPrefetched: true,
    attemptLog: [{ outcome: 'prefetched', endedAt: null }],
  });
  mayView.delete(name);
  expect((await app.get('/api/overview')).body).toMatchObject({
    overview: { queues: [], workers: [] },
  });
  open();
  await eventually(async () => (await queue.stats()).completed === 2);
  await worker.stop();
});
