// What the dashboard steers beside single jobs: groups, batches, runs again, edited payloads.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { defineJob, encrypted, JobHandler, type Job } from 'nest-job-queue';
import { JobQueue } from 'nest-job-queue/core';
import { z } from 'zod';
import { patiently } from '../support/faults/wait.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { startDashboard, type DashboardApp, type Platform } from './dashboard-app.js';

const PLATFORMS: Platform[] = ['express', 'fastify'];

/** Allows every action but the given ones. */
const allBut =
  (...refused: string[]) =>
  (action: string) =>
    !refused.includes(action);

async function logOf(app: DashboardApp, queue: string): Promise<Record<string, unknown>[]> {
  const { body } = await app.get(`/api/log?queue=${queue}`);
  return body.entries as Record<string, unknown>[];
}

describe.each(PLATFORMS)('on %s', (platform) => {
  const start = (setup: Parameters<typeof startDashboard>[0] = {}) =>
    startDashboard({ platform, jobs: { worker: false, maintenance: false, ...setup.jobs }, ...setup });

  it('pauses, resumes, limits and cleans a group, and keeps a log of it', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] } });
    const { groups } = app.queue(name);
    await app.queue(name).enqueueMany([1, 2, 3].map((payload) => ({ payload, group: 'tenant-1' })));
    const act = (action: string) => app.post('/api/groups/act', { action, queue: name, group: 'tenant-1' });
    expect((await act('pause')).body).toEqual({ done: 1, spared: 0 });
    expect((await groups.get('tenant-1')).pausedAt).toBeInstanceOf(Date);
    expect((await groups.get('tenant-1')).pausedBy).toMatch(/127\.0\.0\.1/);
    expect((await act('resume')).body).toEqual({ done: 1, spared: 0 });
    const limits = { weight: 3, maxRunning: 2, rateLimit: { limit: 10, periodMs: 60_000 }, onDeadHead: 'hold' };
    const setTo = (value: unknown) =>
      app.post('/api/groups/limits', { queue: name, group: 'tenant-1', limits: value });
    expect((await setTo(limits)).body).toEqual({ done: 1, spared: 0 });
    expect((await groups.get('tenant-1')).limits).toMatchObject(limits);
    const wrong = await setTo({ weight: 0 });
    expect([wrong.status, JSON.stringify(wrong.body)]).toEqual([400, expect.stringContaining('weight')]);
    expect((await setTo(null)).status).toBe(200);
    expect((await groups.get('tenant-1')).limits).toEqual({});
    expect((await act('clean')).body).toEqual({ done: 3, spared: 0 });
    expect((await app.post('/api/groups/act', { action: 'pause', queue: name, group: '' })).status).toBe(400);
    expect(await logOf(app, name)).toMatchObject([
      { action: 'clean-group', subject: 'group tenant-1', count: 3 },
      { action: 'clear-group', subject: 'group tenant-1', target: { kind: 'group', id: 'tenant-1' } },
      {
        action: 'limit-group',
        subject: 'group tenant-1: weight 3, at most 2 run at once, 10 start in 1 min, waits behind a dead letter',
      },
      { action: 'resume-group' },
      { action: 'pause-group' },
    ]);
  });

  it('names who limited a group, and nobody for the limits of code', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name], user: () => 'ada' } });
    await app.queue(name).enqueue(1, { group: 'tenant-1' });
    const limit = (limits: unknown) => app.post('/api/groups/limits', { queue: name, group: 'tenant-1', limits });
    const limitedBy = async () => {
      const { body } = await app.get(`/api/groups?queue=${name}`);
      return (body.groups as { limitedBy: string | null }[])[0]!.limitedBy;
    };
    await limit({ weight: 3 });
    expect(await limitedBy()).toBe('ada');
    await limit(null);
    const groups = { overrides: { 'tenant-1': { weight: 2 } } };
    await new JobQueue(connect(), name, { groups }).enqueue(2, { group: 'tenant-1' });
    expect((await app.queue(name).groups.get('tenant-1')).limits).toEqual({ weight: 2 });
    expect(await limitedBy()).toBeNull();
  });

  it('keeps the reason and the length of a pause of a group in the log', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] } });
    await app.post('/api/groups/act', {
      action: 'pause',
      queue: name,
      group: 'tenant-1',
      reason: 'their API is down',
      forMs: 900_000,
    });
    const [entry] = await logOf(app, name);
    expect(entry).toMatchObject({ subject: 'group tenant-1: for 15 min, their API is down' });
  });

  it('asks `can` for each action on a group, with the group, and on a batch', async () => {
    const name = uniqueQueueName('mail');
    const seen: unknown[] = [];
    const app = await start({
      dashboard: {
        queues: [name],
        can: (action, _request, subject) => {
          seen.push([action, subject]);
          return allBut('pause', 'limits', 'remove', 'cancel', 'run-again')(action);
        },
      },
    });
    const group = { queue: name, group: 'tenant-1' };
    const refused = [
      await app.post('/api/groups/act', { action: 'pause', ...group }),
      await app.post('/api/groups/act', { action: 'clean', ...group }),
      await app.post('/api/groups/limits', { limits: null, ...group }),
      await app.post('/api/batch/cancel', { queue: name, id: 'some' }),
      await app.post('/api/jobs/act', { action: 'run-again', queue: name, state: 'completed', ids: ['some'] }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
    expect(seen).toEqual(
      expect.arrayContaining([
        ['pause', group],
        ['remove', group],
        ['limits', group],
        ['cancel', { queue: name, id: 'some' }],
        ['run-again', { queue: name, id: 'some' }],
      ]),
    );
  });

  it('keeps the limits of groups when the limits of their queue are set', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] } });
    await app.queue(name).limits.set({ groups: { maxRunning: 2 } });
    await app.post('/api/queue/limits', { queue: name, limits: { maxRunning: 9 } });
    expect(await app.queue(name).limits.get()).toMatchObject({ maxRunning: 9, groups: { maxRunning: 2 } });
  });

  it('changes one limit of a queue without undoing the change of another operator', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] } });
    const { limits } = app.queue(name);
    const rateLimit = { limit: 10, periodMs: 60_000, burst: 1 };
    await limits.set({ maxRunning: 5, maxPending: 100 });
    const change = (changes: unknown) => app.post('/api/queue/limits', { queue: name, limits: changes });
    const answers = await Promise.all([change({ maxRunning: 7 }), change({ rateLimit })]);
    expect(answers.map(({ body }) => body)).toEqual([
      { done: 1, spared: 0 },
      { done: 1, spared: 0 },
    ]);
    expect(await limits.get()).toMatchObject({ maxRunning: 7, rateLimit, maxPending: 100 });
    await change({ maxRunning: null });
    expect(await limits.get()).toEqual({ source: 'set', rateLimit, maxPending: 100 });
    const [last] = await logOf(app, name);
    expect(last).toMatchObject({ action: 'limits', subject: 'the queue: no limit of running jobs' });
  });

  it('shows batches, their members in other queues, and their follow-ups, and cancels one', async () => {
    const [home, remote] = [uniqueQueueName('book'), uniqueQueueName('page')];
    const app = await start({ dashboard: { queues: [home, remote] } });
    const batch = app.queue(home).batch({ id: 'atlas', finally: { name: 'bind' } });
    const [map, index] = await batch.addMany('page', [{ payload: 1 }, { payload: 2 }]);
    const far = await batch.add('page', 3, { queue: app.queue(remote) });
    await batch.seal();
    const listed = await app.get(`/api/batches?queue=${home}`);
    expect(listed.body).toMatchObject({
      batches: [
        { id: 'atlas', state: 'sealed', words: 'It waits for its jobs: 3 of 3 jobs have not ended.', open: 3 },
      ],
    });
    const shown = await app.get(`/api/batch?queue=${home}&id=atlas`);
    expect(shown.body).toMatchObject({
      followUps: [{ kind: 'finally', queue: home, words: 'waits for the batch', job: null }],
      members: [
        { id: map!.id, queue: home, status: 'open', name: 'page', label: '1', at: expect.any(Number) },
        { id: index!.id, queue: home },
        { id: far.id, queue: remote },
      ],
      next: null,
    });
    const member = await app.get(`/api/job?queue=${remote}&id=${far.id}`);
    expect(member.body).toMatchObject({ batch: { queue: home, id: 'atlas', role: 'member' } });
    const cancelled = await app.post('/api/batch/cancel', { queue: home, id: 'atlas' });
    expect(cancelled.body).toEqual({ done: 3, spared: 0 });
    expect((await app.queue(home).findBatch('atlas').status()).stopped).toBe(true);
    expect(await logOf(app, home)).toMatchObject([{ action: 'cancel-batch', subject: 'batch atlas', count: 3 }]);
    expect((await app.get(`/api/batch?queue=${home}&id=never-was`)).status).toBe(404);
    expect((await app.post('/api/batch/cancel', { queue: home, id: 'never-was' })).status).toBe(404);
  });

  it('shows a follow-up in another queue without the fields that its workers hide', async () => {
    const [home, mail] = [uniqueQueueName('book'), uniqueQueueName('mail')];
    const app = await start({ dashboard: { queues: [home, mail] } });
    await connect().hset(`queue:${mail}:sweep`, 'content', JSON.stringify({ redact: ['token'] }));
    const payload = { token: 'tok-4711', to: 'ada' };
    await app
      .queue(home)
      .batch({ id: 'empty', finally: { name: 'mail', queue: mail, payload } })
      .seal();
    const { body } = await app.get(`/api/batch?queue=${home}&id=empty`);
    expect(body).toMatchObject({ followUps: [{ queue: mail, job: { label: 'token: [redacted], to: ada' } }] });
  });

  it('leads from a follow-up to its batch, and from a batch to its follow-up', async () => {
    const name = uniqueQueueName('book');
    const app = await start({ dashboard: { queues: [name] } });
    const batch = app.queue(name).batch({ id: 'empty', then: { name: 'bind' } });
    await batch.seal();
    const { body } = await app.get(`/api/batch?queue=${name}&id=empty`);
    expect(body).toMatchObject({
      batch: { state: 'fired', total: 0 },
      followUps: [{ kind: 'then', words: expect.stringMatching(/^(scheduled|pending)$/), job: { name: 'bind' } }],
    });
    const [{ id }] = body.followUps as [{ id: string }];
    const followUp = await app.get(`/api/job?queue=${name}&id=${encodeURIComponent(id)}`);
    expect(followUp.body).toMatchObject({ batch: { queue: name, id: 'empty', role: 'follow-up' } });
  });

  it('says of a job that starts after another why it waits, and names both', async () => {
    const name = uniqueQueueName('media');
    const app = await start({ dashboard: { queues: [name] } });
    const first = await app.queue(name).enqueue({ resize: 'cat.png' });
    const second = await app.queue(name).enqueue({ publish: 'cat.png' }, { after: [first.id] });
    expect((await app.get(`/api/job?queue=${name}&id=${second.id}`)).body).toMatchObject({
      after: [{ queue: name, id: first.id }],
      whyNotRunning: `It starts after job ${first.id}; look at that job if it takes long.`,
    });
    expect((await app.get(`/api/job?queue=${name}&id=${first.id}`)).body).toMatchObject({
      followedBy: [{ queue: name, id: second.id }],
    });
  });

  it('runs completed and cancelled jobs again: chosen ones, or each that had ended before', async () => {
    const name = uniqueQueueName('mail');
    const app = await start({ dashboard: { queues: [name] } });
    const queue = app.queue(name);
    const handles = await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload })));
    const completeAll = async () => {
      for (let job = await queue.claim(); job; job = await queue.claim()) await queue.complete(job, 'done');
    };
    await completeAll();
    const [id] = handles.map((handle) => handle.id);
    const one = { action: 'run-again', queue: name, state: 'completed', ids: [id] };
    expect((await app.post('/api/jobs/act', one)).body).toEqual({ done: 1, spared: 0 });
    expect(await queue.get(id!)).toMatchObject({ status: 'pending', attempts: 0 });
    expect((await app.post('/api/jobs/act', one)).body).toEqual({ done: 0, spared: 1 });
    await completeAll();
    const begun = await app.post('/api/runs', { action: 'run-again', queue: name, state: 'completed', match: {} });
    const ended = await patiently(async () => {
      const { runs } = (await app.get('/api/runs')).body as { runs: { id: string; status: string }[] };
      return runs.find((run) => run.id === begun.body.id && run.status === 'done');
    });
    expect(ended).toMatchObject({ done: 3 });
    expect(await queue.stats()).toMatchObject({ pending: 3, completed: 0 });
  });

  it('checks an edited payload by the schema of its job', async () => {
    const name = uniqueQueueName('mail');
    const SendMail = defineJob(name, { payload: z.object({ to: z.string().includes('@') }) });
    @JobHandler(SendMail)
    class Mails {
      handle(_job: Job): void {}
    }
    const app = await start({ providers: [Mails] });
    const { id } = await app.jobs.enqueue(SendMail, { to: 'ada@example.com' }, { maxAttempts: 1 });
    await app.queue(name).fail((await app.queue(name).claim())!, new Error('broken'));
    const edit = (payload: unknown) => app.post('/api/jobs/edit', { queue: name, id, payload });
    const wrong = await edit({ to: 'nobody' });
    expect([wrong.status, JSON.stringify(wrong.body)]).toEqual([400, expect.stringContaining('to')]);
    expect((await app.queue(name).get(id))!.status).toBe('failed');
    expect((await edit({ to: 'bob@example.com' })).body).toEqual({ done: 1, spared: 0 });
    expect(await app.queue(name).get(id)).toMatchObject({ status: 'pending', payload: { to: 'bob@example.com' } });
  });

  it('refuses to edit a payload whose key this process does not have', async () => {
    const name = uniqueQueueName('mail');
    const jobs = { worker: false, maintenance: false } as const;
    const key = { id: 'k1', key: randomBytes(32).toString('base64') };
    const writer = await start({ jobs: { ...jobs, codec: encrypted([key]) }, dashboard: { queues: [name] } });
    const { id } = await writer.queue(name).enqueue({ card: '4111' }, { maxAttempts: 1 });
    await writer.queue(name).fail((await writer.queue(name).claim())!, new Error('broken'));
    expect((await writer.get(`/api/job?queue=${name}&id=${id}`)).body).toMatchObject({
      payload: { card: '4111' },
      editRefusal: null,
    });
    const other = { id: 'k2', key: randomBytes(32).toString('base64') };
    for (const codec of [undefined, encrypted([other])]) {
      const blind = await start({ jobs: { ...jobs, ...(codec && { codec }) }, dashboard: { queues: [name] } });
      const { body } = await blind.get(`/api/job?queue=${name}&id=${id}`);
      expect(body.editRefusal).toMatch(/codec "encrypted", which this process cannot read/);
      const refused = await blind.post('/api/jobs/edit', { queue: name, id, payload: { card: '0' } });
      expect(refused.status).toBe(409);
    }
    expect(await writer.queue(name).get(id)).toMatchObject({ status: 'failed', payload: { card: '4111' } });
  });
});
