// A signal that a viewer sends to a job.
import { expect, it } from '@jest/globals';
import { defineJob, JobHandler, type Job, type SignalsOf } from 'nest-job-queue';
import { z } from 'zod';
import { eventually } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard } from '../dashboard-app.js';

async function waitingOrder(dashboard = {}) {
  const name = uniqueQueueName('order');
  const Order = defineJob(name, { payload: z.unknown(), signals: { approved: z.object({ by: z.string() }) } });
  @JobHandler(Order)
  class Orders {
    async handle(job: Job<unknown, SignalsOf<typeof Order>>): Promise<string> {
      return (await job.waitFor('approved')).by;
    }
  }
  const app = await startDashboard({ dashboard, providers: [Orders] });
  const job = await app.jobs.enqueue(Order, {});
  const queue = app.queue(name);
  await eventually(async () => (await queue.stats()).parked === 1);
  const send = (data: unknown, signal = 'approved', id = job.id) =>
    app.post('/api/jobs/signal', { queue: name, id, signal, data });
  return { app, name, job, send };
}

it('starts the job that waits for it, says so, and has an entry in the log', async () => {
  const { app, name, job, send } = await waitingOrder();
  const path = `/api/job?queue=${name}&id=${job.id}`;
  expect((await app.get(path)).body).toMatchObject({
    waits: [{ name: 'approved', kind: 'signal', since: expect.any(Number), until: null, state: 'open' }],
    actions: expect.arrayContaining(['signal']),
  });
  const { body: found } = await app.get<{ jobs: object[] }>(
    `/api/search?queue=${name}&state=scheduled&text=waits:appr*`,
  );
  expect(found.jobs).toMatchObject([{ id: job.id, parked: { name: 'approved', since: expect.any(Number) } }]);
  expect((await app.get('/api/overview')).body).toMatchObject({
    overview: {
      queues: [{ parked: 1, verdict: { sentence: expect.stringContaining('1 for a signal or a time') } }],
    },
  });
  expect((await send({ by: 'ada' })).body).toEqual({ done: 1, spared: 0, outcome: 'delivered' });
  expect(await job.result({ timeoutMs: 10_000 })).toBe('ada');
  expect((await app.get(`/api/log?queue=${name}`)).body['entries']).toMatchObject([
    {
      action: 'signal',
      via: 'dashboard',
      subject: `job ${job.id}: approved`,
      count: 1,
      target: { kind: 'job', id: job.id },
    },
  ]);
  const late = await send({ by: 'bob' });
  expect([late.status, late.body]).toEqual([200, { done: 0, spared: 0, outcome: 'known' }]);
});

it('refuses data that does not fit, an unknown signal, and a job that has ended or is gone', async () => {
  const { app, name, job, send } = await waitingOrder();
  const refusal = async (...args: Parameters<typeof send>) => {
    const { status, body } = await send(...args);
    return [status, JSON.stringify(body)];
  };
  expect(await refusal({ by: 7 })).toEqual([400, expect.stringContaining('by')]);
  expect(await refusal({ by: 'ada' }, 'approvd')).toEqual([400, expect.stringContaining('one of')]);
  expect(await refusal({ by: 'ada' }, '')).toEqual([400, expect.stringContaining('signal')]);
  expect(await refusal({ by: 'ada' }, 'approved', 'nope')).toEqual([404, expect.stringContaining('gone')]);
  expect((await app.queue(name).get(job.id))!.signals).toBeUndefined();
  await app.queue(name).cancel(job.id);
  expect(await refusal({ by: 'ada' })).toEqual([409, expect.stringContaining('cancelled')]);
});

it('refuses who may not send signals', async () => {
  const { app, name, job, send } = await waitingOrder({ can: (action: string) => action !== 'signal' });
  const refused = await send({ by: 'ada' });
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([403, expect.stringContaining('send signals')]);
  const { body } = await app.get(`/api/job?queue=${name}&id=${job.id}`);
  expect(body['actions']).not.toContain('signal');
  expect((await app.queue(name).get(job.id))!.signals).toBeUndefined();
});
