// The steps of a job, as operators see them: with their times and attempts, without their results.
import { expect, it } from '@jest/globals';
import type { Job } from '#worker/handlers/job.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';
import { JobQueue } from '#queue/job-queue.js';
import { cli } from '../../cli/run-cli.js';
import { startDashboard } from '../dashboard-app.js';

it('the dashboard and the command line list the recorded steps of a job', async () => {
  const queue = new JobQueue(connect(), uniqueQueueName('order'), { backoff: 0, maxAttempts: 2 });
  await startWorker(queue, async (job: Job) => {
    await job.step('charge', () => ({ card: '4242-4242' }));
    if (job.attempt === 1) throw new Error('no mail');
    await job.step('mail', () => undefined);
  });
  const job = await queue.enqueue({});
  await job.result();
  const { steps = [] } = (await job.get())!;
  const told = steps.map(({ name, at, attempt }) => ({ name, at: at.getTime(), attempt }));
  expect(told.map(({ name, attempt }) => [name, attempt])).toEqual([
    ['charge', 1],
    ['mail', 2],
  ]);

  const app = await startDashboard({ dashboard: { queues: [queue.name] }, jobs: { worker: false } });
  const { body } = await app.get(`/api/job?queue=${queue.name}&id=${job.id}`);
  expect(body).toMatchObject({ steps: told });

  const { stdout } = await cli(['show', queue.name, job.id]);
  const lines = stdout.split('\n').filter((line) => line.startsWith('step '));
  expect(lines).toEqual([
    expect.stringMatching(/^step +charge: \d{4}-.*, attempt 1$/),
    expect.stringMatching(/^step +mail: \d{4}-.*, attempt 2$/),
  ]);
  expect(JSON.stringify(body) + stdout).not.toContain('4242-4242');
});
