// Queues of the same Redis that the app of the dashboard does not know.
import { expect, it, jest } from '@jest/globals';
import { JobQueue } from 'nest-job-queue/core';
import type { DashboardOptions } from 'nest-job-queue/dashboard';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { QueueRegistry } from '#nest/connection/queue-registry.js';
import { handlerOf } from '../../nest/app.js';
import { eventually } from '../../support/faults/wait.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard } from '../dashboard-app.js';

interface Shown {
  overview: { queues: { name: string; isOther?: true; isHidden?: true; workers: number }[]; sentence: object };
}

/** Returns an app with one queue, and a second program with another one on the same Redis. */
async function twoPrograms(dashboard: DashboardOptions = {}) {
  const prefix = uniqueQueueName('fleet');
  const app = await startDashboard({
    jobs: { prefix },
    dashboard: { otherQueues: true, ...dashboard },
    providers: [handlerOf('email'), JobQueueHealthIndicator],
  });
  return { app, prefix, other: new JobQueue(connect(), 'emial', { prefix }) };
}

it('lists a queue that only another program uses, apart and with its verdict', async () => {
  const { app, other } = await twoPrograms();
  const job = await other.enqueue({ to: 'ada@example.com' });
  const queues = async () => (await app.get<Shown>('/api/overview')).body.overview.queues;
  await eventually(async () => (await queues()).length === 2);
  const shown = await queues();
  expect(shown.find(({ name }) => name === 'email')).not.toHaveProperty('isOther');
  expect(shown.find(({ name }) => name === 'emial')).toMatchObject({ isOther: true, depths: { pending: 1 } });
  expect((await app.get('/api/find?id=' + job.id)).body).toMatchObject({ jobs: [{ queue: 'emial' }] });
  expect(app.jobs.queueNames()).toEqual(['email']); // this process does not maintain it
});

it('finds a job in a queue of other clients, which is in no register', async () => {
  const { app, prefix } = await twoPrograms();
  const redis = connect();
  await redis.lpush(`${prefix}:ruby:pending`, 'job-1');
  await redis.hset(`${prefix}:ruby:job:job-1`, {
    id: 'job-1',
    payload: '{}',
    status: 'pending',
    enqueued_at_ms: '1',
  });
  expect((await app.get('/api/job?queue=ruby&id=job-1')).body).toMatchObject({ state: 'pending', queue: 'ruby' });
  const { status, body } = await app.get('/api/job?queue=rubby&id=job-1');
  expect({ status, body }).toMatchObject({
    status: 404,
    body: { error: { message: expect.stringContaining('no queue of that name') } },
  });
});

it('says where the member of a batch is that waits in such a queue', async () => {
  const { app, prefix } = await twoPrograms();
  const redis = connect();
  const [home, other] = [new JobQueue(redis, 'email', { prefix }), new JobQueue(redis, 'emial', { prefix })];
  const batch = home.batch({ id: 'mixed', finally: { name: 'email', payload: {} } });
  const job = await batch.add('page', {}, { queue: other });
  await batch.seal();
  const { body } = await app.get('/api/batch?queue=email&id=mixed');
  expect(body).toMatchObject({ members: [{ id: job.id, queue: 'emial', status: 'open', state: 'pending' }] });
});

it('is among the warnings of health, and does not fail it', async () => {
  const { app, other, prefix } = await twoPrograms();
  const jobs = await other.enqueueMany([{ payload: 1 }, { payload: 2 }]);
  await Promise.all(jobs.map(({ id }) => connect().hset(`${prefix}:emial:job:${id}`, 'enqueued_at_ms', 1)));
  await eventually(async () => (await connect().zscore(`${prefix}:queues`, 'emial')) !== null);
  const health = app.app.get(JobQueueHealthIndicator);
  await eventually(async () => (await health.check()).jobQueue.warnings !== undefined); // it is read beside a check
  expect((await health.check()).jobQueue).toMatchObject({
    status: 'up',
    warnings: [expect.stringContaining('emial, which this app does not know: stuck: 2 waiting')],
  });
});

it('does not fail health or the overview where it gives no reply', async () => {
  const { app, other } = await twoPrograms();
  await other.enqueue({});
  const registry = app.app.get(QueueRegistry, { strict: false });
  await eventually(async () => (await connect().zscore(`${other.options.prefix}:queues`, 'emial')) !== null);
  jest.spyOn(registry.reference('emial'), 'stats').mockRejectedValue(new Error('no reply'));
  const health = app.app.get(JobQueueHealthIndicator);
  await eventually(async () => {
    const { jobQueue } = await health.check();
    expect(jobQueue.status).toBe('up');
    return (jobQueue.warnings?.length ?? 0) > 0;
  });
  const { body } = await app.get('/api/overview');
  expect(body).toMatchObject({
    overview: { unreadable: [{ name: 'emial', isOther: true, verdict: { severity: 'warning' } }] },
  });
});

it('names a queue that gives no reply beside the jobs, schedules, actions and runs of the others', async () => {
  const { app, other } = await twoPrograms();
  await other.enqueue({});
  const registry = app.app.get(QueueRegistry, { strict: false });
  await eventually(async () => (await connect().zscore(`${other.options.prefix}:queues`, 'emial')) !== null);
  const job = await app.queue('email').enqueue({}, { delayMs: 60_000 });
  await app.queue('email').schedules.upsert('daily', { everyMs: 86_400_000 });
  await app.queue('email').pause();
  jest.spyOn(registry.reference('emial'), 'calls').mockRejectedValue(new Error('no reply'));
  const sentence = '`emial` is unreadable: No answer came. The log of the app says more.';
  const unreadable = [{ name: 'emial', isOther: true, verdict: { sentence } }];
  const find = await app.get(`/api/find?id=${job.id}`);
  expect(find).toMatchObject({ status: 200, body: { jobs: [{ id: job.id }], unreadable } });
  const schedules = await app.get('/api/schedules');
  expect(schedules).toMatchObject({ status: 200, body: { schedules: [{ id: 'daily' }], unreadable } });
  const log = await app.get('/api/log');
  expect(log).toMatchObject({
    status: 200,
    body: { entries: [{ action: 'pause' }, { queue: 'email' }], unreadable },
  });
  expect(await app.get('/api/runs')).toMatchObject({ status: 200 });
});

const failsForIds: DashboardOptions['can'] = (_action, _request, { id }) => {
  if (id !== undefined) throw new Error('The roles are away');
  return true;
};

it.each([
  ['recurring jobs', '/api/schedules'],
  ['actions', '/api/log'],
])('an error of `can` fails the list of %s, and makes no queue unreadable', async (_, path) => {
  const { app, other } = await twoPrograms({ can: failsForIds });
  await other.enqueue({});
  await other.schedules.upsert('digest', { everyMs: 60_000 });
  await other.as({ via: 'cli', by: 'ada' }).cancel('seen');
  await eventually(async () => (await connect().zscore(`${other.options.prefix}:queues`, 'emial')) !== null);
  expect(await app.get(path)).toMatchObject({ status: 500, body: { error: { code: 'internal' } } });
});

it('lists the others where the register has a bad name, and one queue cannot be looked at', async () => {
  const { app, other, prefix } = await twoPrograms();
  const redis = connect();
  await Promise.all([other.enqueue({}), new JobQueue(redis, 'dead', { prefix }).enqueue({})]);
  await eventually(async () => (await redis.zcard(`${prefix}:queues`)) >= 3);
  await redis.zadd(`${prefix}:queues`, Date.now(), 'no {name}');
  const { queues } = app.app.get(QueueRegistry, { strict: false }).redis.store;
  const look = queues.look.bind(queues);
  jest.spyOn(queues, 'look').mockImplementation(async (...about) => {
    const [, ...found] = await look(...about);
    return [{ ok: false, error: new Error('this part is dead') }, ...found];
  });
  const { overview } = (await app.get<Shown>('/api/overview')).body;
  expect(overview.queues.filter(({ isOther }) => isOther)).toHaveLength(1);
});

/** Returns a function that sends an action on a failed job of another app to a dashboard with this option. */
async function actsElsewhere(otherQueues: true | 'operate') {
  const prefix = uniqueQueueName('fleet');
  const app = await startDashboard({
    jobs: { prefix },
    dashboard: { otherQueues },
    providers: [handlerOf('email')],
  });
  const other = new JobQueue(connect(), 'emial', { prefix });
  const { id } = await other.enqueue({}, { maxAttempts: 1 });
  await other.fail((await other.claim())!, new Error('broken'));
  const read = async () => (await other.get(id))!.status;
  const send = async (path: string, body: object) => {
    const { status, body: reply } = await app.post(path, { queue: 'emial', ...body });
    return { status, text: JSON.stringify(reply) };
  };
  return { app, id, send, read, redrive: { action: 'redrive', state: 'failed', ids: [id] } };
}

it('refuses each action on it by default, and says which option allows it', async () => {
  const { app, id, send, read, redrive } = await actsElsewhere(true);
  const refused = { status: 403, text: expect.stringContaining("otherQueues: 'operate'") };
  expect(await send('/api/jobs/act', redrive)).toEqual(refused);
  expect(await send('/api/queue/act', { action: 'pause' })).toEqual(refused);
  expect(await send('/api/runs', { action: 'discard', state: 'failed', match: {} })).toEqual(refused);
  expect(await read()).toBe('failed');
  expect((await app.get('/api/session')).body).toMatchObject({ othersReadOnly: true });
  expect((await app.get(`/api/job?queue=emial&id=${id}`)).body).toMatchObject({ actions: ['view'] });
});

it("allows actions on it with otherQueues: 'operate', but no edit and no signal", async () => {
  const { id, send, read, redrive } = await actsElsewhere('operate');
  expect(await send('/api/jobs/edit', { id, payload: {} })).toEqual({
    status: 403,
    text: expect.stringContaining('cannot encode its payloads'),
  });
  expect(await send('/api/jobs/signal', { id, signal: 'approved' })).toEqual({
    status: 403,
    text: expect.stringContaining('cannot encode its payloads'),
  });
  expect(await send('/api/jobs/act', redrive)).toMatchObject({ status: 200 });
  expect(await read()).toBe('pending');
});

/** Returns an app that hides `iban`, and a failed job of a queue that it does not know. */
async function failedElsewhere(announce: boolean) {
  const prefix = uniqueQueueName('fleet');
  const app = await startDashboard({
    jobs: { prefix, redact: ['iban'] },
    dashboard: { otherQueues: true },
    providers: [handlerOf('email')],
  });
  const redis = connect();
  const other = new JobQueue(redis, 'emial', { prefix, ...(announce && { redact: ['token'] }) });
  const { id } = await other.enqueue({ iban: 'DE02-1203', token: 'tok-4711', to: 'Byron' }, { maxAttempts: 1 });
  await other.fail((await other.claim())!, new Error('no account DE02-1203, tok-4711 of Lovelace'));
  if (announce) {
    await redis.hset(`${prefix}:emial:sweep`, 'content', JSON.stringify({ redact: ['token'] }));
  }
  return (await app.get(`/api/job?queue=emial&id=${id}`)).body;
}

it('hides the fields that the other app announces, and those of this app', async () => {
  expect(await failedElsewhere(true)).toMatchObject({
    payload: { iban: '[redacted]', token: '[redacted]', to: 'Byron' },
    error: 'no account [redacted], [redacted] of Lovelace',
  });
});

it('shows no content of a queue whose app announces nothing', async () => {
  const body = await failedElsewhere(false);
  expect(body).toMatchObject({ state: 'failed', payload: '[redacted]', error: '[redacted]' });
  expect(JSON.stringify(body)).not.toMatch(/DE02-1203|tok-4711|Byron|Lovelace/);
});

it.each([
  ['no worker has announced it', false, true],
  ['its workers announced it and are gone', true, undefined],
])('says whether its content is hidden where %s', async (_, isAnnounced, isHidden) => {
  const { app, other, prefix } = await twoPrograms();
  await other.enqueue({});
  if (isAnnounced) {
    await connect().hset(`${prefix}:emial:sweep`, 'content', JSON.stringify({ redact: ['token'] }));
  }
  const shown = async () =>
    (await app.get<Shown>('/api/overview')).body.overview.queues.find(({ name }) => name === 'emial');
  await eventually(async () => (await shown()) !== undefined);
  const { workers, isHidden: found } = (await shown())!;
  expect([workers, found]).toEqual([0, isHidden]);
});

it('shows only its own queues with otherQueues: false', async () => {
  const prefix = uniqueQueueName('fleet');
  const app = await startDashboard({ jobs: { prefix }, providers: [handlerOf('email')] });
  const job = await new JobQueue(connect(), 'emial', { prefix }).enqueue({});
  expect((await app.get('/api/overview')).body).toMatchObject({ overview: { queues: [{ name: 'email' }] } });
  expect(await app.get(`/api/job?queue=emial&id=${job.id}`)).toMatchObject({ status: 404 });
});

it('shows the queues of the app where another program has the key of the register', async () => {
  const prefix = uniqueQueueName('fleet');
  await connect().set(`${prefix}:queues`, 'mine');
  const app = await startDashboard({
    jobs: { prefix },
    dashboard: { otherQueues: true },
    providers: [handlerOf('email'), JobQueueHealthIndicator],
  });
  expect((await app.get('/api/overview')).body).toMatchObject({ overview: { queues: [{ name: 'email' }] } });
  expect((await app.app.get(JobQueueHealthIndicator).check()).jobQueue.status).toBe('up');
  expect(app.log.lines.join('\n')).toContain('Could not look for other queues of this Redis');
});
