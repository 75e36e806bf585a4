// A profile that a viewer asks for and downloads.
import { expect, it } from '@jest/globals';
import { WorkerLifecycle } from '#nest/lifecycle/worker-lifecycle.js';
import { eventually } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { learn } from '../../support/worker/learn.js';
import { startDashboard } from '../dashboard-app.js';
import { handlerOf } from '../../nest/app.js';

async function served(dashboard = {}) {
  const name = uniqueQueueName('invoice');
  const Invoices = handlerOf(name, () => 1);
  const started = await startDashboard({ dashboard, providers: [Invoices] });
  const ask = () => started.post('/api/queue/profile', { queue: name, kind: 'cpu' });
  const last = async () => (await started.get<{ profile: object | null }>(`/api/queue/profile?queue=${name}`)).body;
  return { ...started, name, ask, last };
}

it('measures the next job, has an entry in the log, and is downloaded as a file', async () => {
  const { app, jobs, name, ask, last, get } = await served();
  expect(await last()).toEqual({ profile: null });
  expect((await ask()).body).toMatchObject({ done: 1 });
  expect(await last()).toMatchObject({ profile: { state: 'asked', kind: 'cpu' } });
  expect((await ask()).body).toMatchObject({ error: { code: 'ProfileError' } });
  await learn(app.get(WorkerLifecycle).worker!);
  await jobs.enqueue(name, {});
  await eventually(async () => ((await last()).profile as { state: string }).state === 'done');
  const { body } = await get<{ nodes: unknown[] }>(`/api/queue/profile/file?queue=${name}`);
  expect(body.nodes).toEqual(expect.arrayContaining([]));
  expect((await get(`/api/log?queue=${name}`)).body['entries']).toContainEqual(
    expect.objectContaining({ action: 'profile', via: 'dashboard', count: 1 }),
  );
});

it('is refused without the permission', async () => {
  const { ask, get, name, jobs } = await served({ can: (action: string) => action !== 'profile' });
  expect((await ask()).status).toBe(403);
  expect((await get(`/api/queue/profile?queue=${name}`)).status).toBe(403);
  expect((await get(`/api/queue/profile/file?queue=${name}`)).status).toBe(403);
  expect(await jobs.queue(name).profiles.get()).toBeNull();
});
