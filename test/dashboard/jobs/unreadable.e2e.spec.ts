// A queue that cannot be read: its row says why, and the pages of all queues show the others.
import { expect, it } from '@jest/globals';
import { LAYOUT } from '#queue/scripts/layout.js';
import type { QueueView } from '#dashboard/views/views.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard } from '../dashboard-app.js';

async function withUnreadable(hidden?: 'newer') {
  const names = {
    newer: uniqueQueueName('a-newer'),
    broken: uniqueQueueName('broken'),
    mail: uniqueQueueName('mail'),
  };
  const redis = connect();
  await redis.hset(`queue:${names.newer}:sweep`, 'layout', 9);
  await redis.set(`queue:${names.broken}:pending`, 'of another program');
  const app = await startDashboard({
    dashboard: {
      queues: Object.values(names),
      can: (_action, _request, { queue }) => hidden === undefined || queue !== names[hidden],
    },
    jobs: { worker: false, maintenance: false },
  });
  const job = await app.queue(names.mail).enqueue({});
  const { body } = await app.get('/api/overview');
  const { overview } = body as { overview: { queues: QueueView[] } | null };
  return { app, names, job, overview };
}

it('has a row with a verdict and no figures in the overview', async () => {
  const { names, overview } = await withUnreadable();
  expect(overview).toMatchObject({
    sentence: { severity: 'warning', sentence: expect.stringMatching(/is unreadable: /), more: 1 },
    queues: [{ name: names.mail, depths: { pending: 1 } }],
    unreadable: [
      {
        name: names.newer,
        verdict: {
          severity: 'warning',
          sentence: `\`${names.newer}\` is unreadable: its keys have layout 9, and this version knows up to ${LAYOUT}.`,
          remedy: 'Upgrade nest-job-queue here.',
        },
      },
      { name: names.broken, verdict: { sentence: expect.stringContaining('has the wrong type') } },
    ],
  });
});

it('is hidden from viewers who may not see it', async () => {
  const { names, overview } = await withUnreadable('newer');
  expect(overview).toMatchObject({
    sentence: { sentence: expect.stringContaining(`\`${names.broken}\` is unreadable`) },
    unreadable: [{ name: names.broken }],
  });
});

it('does not keep the schedules, the runs and the jobs of other queues from being found', async () => {
  const { app, names, job } = await withUnreadable();
  await app.queue(names.mail).schedules.upsert('daily', { everyMs: 86_400_000 });
  expect((await app.get('/api/schedules')).body).toMatchObject({ schedules: [{ id: 'daily' }] });
  expect(await app.get('/api/runs')).toMatchObject({ status: 200 });
  expect((await app.get(`/api/find?id=${job.id}`)).body).toMatchObject({ jobs: [{ id: job.id }] });
});
