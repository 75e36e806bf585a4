// An error that several queues have is one row of the overview, and of the search for its cause.
import { expect, it } from '@jest/globals';
import type { SharedErrorView, TimelineEvent } from '#dashboard/views/views.js';
import { eventually } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard } from '../dashboard-app.js';

/** Starts a dashboard of three queues, whose jobs die of a service that two of them need. */
async function threeQueues(dashboard: object = {}) {
  const names = ['payment', 'webhook', 'email'].map((name) => uniqueQueueName(name));
  const app = await startDashboard({
    dashboard: { queues: names, ...dashboard },
    jobs: { worker: false, maintenance: false },
  });
  const down = Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:443'), { code: 'ECONNREFUSED' });
  const errors = [
    new Error('Payment ch_3PqXk2 failed', { cause: down }),
    new Error('Could not deliver', { cause: down }),
    new Error('550 no such user'),
  ];
  for (const [i, name] of names.entries()) {
    await app.queue(name).enqueue({}, { id: `job-${i}` });
    await app.queue(name).fail((await app.queue(name).claim())!, errors[i]!, { final: true });
  }
  const read = async () =>
    (await app.get<{ overview: { errors: SharedErrorView[] } }>('/api/overview')).body.overview.errors;
  return { app, names, read };
}

it('is one row with its queues, and the search finds its jobs', async () => {
  const { app, names, read } = await threeQueues();
  const [error, ...others] = await read();
  expect(others).toEqual([]);
  expect(error).toMatchObject({ words: 'connect ECONNREFUSED 10.0.0.7:443', count: 2, deploy: null });
  expect(error!.queues.toSorted()).toEqual(names.slice(0, 2).toSorted());
  const query = new URLSearchParams({ text: `cause:${error!.key} state:failed` });
  const { body } = await app.get<{ jobs: { id: string }[] }>(`/api/search/all?${query.toString()}`);
  expect(body.jobs.map(({ id }) => id).toSorted()).toEqual(['job-0', 'job-1']);
});

it('is redriven in each of its queues, and nothing happens in one without the permission', async () => {
  const { app, names, read } = await threeQueues({
    can: (action: string, _request: object, { queue = '' }) => action === 'view' || !queue.startsWith('webhook'),
  });
  const [error] = await read();
  expect(Object.fromEntries(error!.kinds.map(({ queue, count }) => [queue, count]))).toEqual(
    Object.fromEntries(names.slice(0, 2).map((name) => [name, 1])),
  );
  const begun = await Promise.all(
    error!.kinds.map(({ queue, kind }) =>
      app.post('/api/runs', { action: 'redrive', queue, state: 'failed', match: { group: kind }, perSecond: 10 }),
    ),
  );
  expect(Object.fromEntries(begun.map(({ status }, i) => [error!.kinds[i]!.queue, status]))).toEqual({
    [names[0]!]: 200,
    [names[1]!]: 403,
  });
  await eventually(async () => (await app.queue(names[0]!).stats()).pending === 1);
  expect((await app.queue(names[1]!).stats()).failed).toBe(1);
});

it('stands on the timeline with a pause, each with its page', async () => {
  const { app, names } = await threeQueues();
  await app.queue(names[2]!).as({ via: 'cli', by: 'ada' }).pause({ reason: 'wrong template' });
  const { body } = await app.get<{ overview: { timeline: TimelineEvent[] } }>('/api/overview');
  const events = body.overview.timeline;
  expect(events.map(({ kind }) => kind).toSorted()).toEqual(['error', 'error', 'error', 'pause']);
  expect(events.at(-1)).toMatchObject({
    kind: 'pause',
    text: `pause of ${names[2]} by ada`,
    page: ['queue', names[2]],
  });
  expect(events.find(({ text }) => text.includes(names[0]!))).toMatchObject({
    text: `first in ${names[0]}: connect ECONNREFUSED 10.0.0.7:443`,
    params: { state: 'failed', group: expect.any(String) },
  });
});

it('is none for a viewer who sees one of its queues, or not each job', async () => {
  const hidden = await threeQueues({
    can: (_action: string, _request: object, { queue = '' }) => !queue.startsWith('webhook'),
  });
  expect(await hidden.read()).toEqual([]);
  const byJob = await threeQueues({
    can: (_action: string, _request: object, { id }: { id?: string }) => id !== 'job-0',
  });
  expect(await byJob.read()).toEqual([]);
});
