// A dead letter that was redriven as a new job says so. Only those who may see the new job learn its name.
import { expect, it } from '@jest/globals';
import type { LogView } from '#dashboard/views/views.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard } from '../dashboard-app.js';

const OFF = { worker: false, maintenance: false } as const;

it.each([
  ['names the new job', false],
  ['hides a new job that the viewer may not see', true],
])('%s, whatever the action', async (_, isHidden) => {
  const name = uniqueQueueName('mail');
  const hidden = new Set<string>();
  const app = await startDashboard({
    jobs: OFF,
    dashboard: { queues: [name], can: (_action, _request, { id }) => id === undefined || !hidden.has(id) },
  });
  const queue = app.queue(name);
  await queue.enqueue({ to: 'ada@example.com' }, { id: 'dead', maxAttempts: 1 });
  await queue.fail((await queue.claim())!, new Error('502'));
  const { id } = await queue.deadLetters.redriveAsNew('dead');
  if (isHidden) hidden.add(id);
  const replies = await Promise.all([
    app.post('/api/jobs/act', { action: 'redrive', queue: name, state: 'failed', ids: ['dead'] }),
    app.post('/api/jobs/edit', { queue: name, id: 'dead', payload: { to: 'bob@example.com' } }),
    app.post('/api/jobs/redrive-as-new', { queue: name, id: 'dead' }),
  ]);
  const said = isHidden
    ? 'It was redriven as a new job, which you may not see.'
    : `It was redriven as the job ${id}. Redrive that job.`;
  for (const { status, body } of replies) {
    expect([status, body]).toEqual([409, { error: expect.objectContaining({ message: said }) }]);
  }
  const { entries } = (await app.get<LogView>(`/api/log?queue=${name}&via=app`)).body;
  expect(entries).toMatchObject([
    { action: 'redrive-as-new', subject: 'job dead', other: isHidden ? null : { kind: 'job', id } },
  ]);
});

it('a job that is no dead letter any more is left alone as before', async () => {
  const name = uniqueQueueName('mail');
  const app = await startDashboard({ jobs: OFF, dashboard: { queues: [name] } });
  await app.queue(name).enqueue(1, { id: 'waits' });
  const act = { action: 'redrive', queue: name, state: 'failed', ids: ['waits'] };
  expect((await app.post('/api/jobs/act', act)).body).toMatchObject({ done: 0, spared: 1 });
  expect((await app.post('/api/jobs/edit', { queue: name, id: 'waits', payload: 2 })).status).toBe(409);
});
