// One search over all queues and states, and the same terms in one queue and for actions.
import { expect, it, jest } from '@jest/globals';
import { JobQueue } from 'nest-job-queue/core';
import { QueueRegistry } from '#nest/connection/queue-registry.js';
import type { EverywherePage } from '#dashboard/views/views.js';
import { handlerOf } from '../../nest/app.js';
import { eventually } from '../../support/faults/wait.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard, type DashboardApp } from '../dashboard-app.js';

type Setup = NonNullable<Parameters<typeof startDashboard>[0]>;

const customer = (id: number) => ({ customer: { id }, to: `c${id}@example.com` });

/** Returns a dashboard of two queues with a job in each of five states. */
async function twoQueues({ dashboard, jobs }: Setup = {}) {
  const [mail, hook] = [uniqueQueueName('mail'), uniqueQueueName('hook')];
  const app = await startDashboard({
    dashboard: { queues: [mail, hook], ...dashboard },
    jobs: { worker: false, maintenance: false, ...jobs },
  });
  const [first, second] = [app.queue(mail), app.queue(hook)];
  await second.enqueue(customer(4), { id: 'dead', maxAttempts: 1 });
  const cause = new Error('connect ECONNREFUSED', { cause: new Error('no route to host') });
  await second.fail((await second.claim())!, new Error('Could not send', { cause }));
  await first.enqueue(customer(4), { id: 'done' });
  await first.complete((await first.claim())!, 'sent');
  await first.enqueue(customer(4), { id: 'waits', group: 'tenant-1', metadata: { 'request-id': 'r-77' } });
  await first.enqueue(customer(40), { id: 'later', delayMs: 60_000 });
  await first.enqueue(customer(5), { id: 'stopped' });
  await first.cancel('stopped');
  return { app, mail, hook };
}

/** Returns the reply to one request. It ends at its time, so a slow machine may need several for a search. */
async function slice(app: DashboardApp, text: string, cursor?: string) {
  const query = new URLSearchParams({ text, ...(cursor !== undefined && { cursor }) });
  const { status, body } = await app.get<EverywherePage>(`/api/search/all?${query.toString()}`);
  return { status, page: body };
}

/** Returns all slices of a search as one page, as the dashboard shows them. */
async function everywhere(app: DashboardApp, text: string, from?: string): Promise<EverywherePage> {
  const { page } = await slice(app, text, from);
  while (page.cursor !== null) {
    const { jobs, searched, unread, unreadable, cursor } = (await slice(app, text, page.cursor)).page;
    page.jobs.push(...jobs);
    page.searched += searched;
    page.unread += unread;
    page.unreadable = [...new Map([...page.unreadable, ...unreadable].map((each) => [each.name, each])).values()];
    page.cursor = cursor;
  }
  return page;
}

async function idsOf(app: DashboardApp, text: string): Promise<string[]> {
  const { jobs } = await everywhere(app, text);
  return jobs.map(({ id }) => id);
}

it('finds jobs of every queue and state, those that need a look first', async () => {
  const { app, mail, hook } = await twoQueues();
  const page = await everywhere(app, 'payload.customer.id:4');
  expect(page).toMatchObject({
    jobs: [
      { queue: hook, id: 'dead', state: 'failed' },
      { queue: mail, id: 'waits', state: 'pending' },
      { queue: mail, id: 'done', state: 'completed' },
    ],
    searched: 5,
    total: 5,
    unread: 0,
    cursor: null,
    unreadable: [],
  });
  const found = { 'no route to host': ['dead'], 'error:econnrefused': ['dead'], 'error:at': ['dead'] };
  for (const [text, ids] of Object.entries({
    ...found,
    'group:tenant-*': ['waits'],
    'tag:r-77': ['waits'],
    'tag.request-id:r-77 payload.to:c4@*': ['waits'],
    [`queue:${mail} state:cancelled state:scheduled`]: ['later', 'stopped'],
    'state:processing': [],
  })) {
    expect({ text, ids: await idsOf(app, text) }).toEqual({ text, ids });
  }
});

it('looks only where a job may match, and counts those jobs', async () => {
  const { app, mail, hook } = await twoQueues();
  expect(await everywhere(app, `queue:${hook}`)).toMatchObject({ searched: 1, total: 1 });
  expect(await everywhere(app, `queue:${mail} state:pending`)).toMatchObject({ searched: 1, total: 1 });
});

it('goes on at its cursor, and finds each job once', async () => {
  const { app, mail, hook } = await twoQueues();
  const bulk = Array.from({ length: 130 }, (_, i) => ({ payload: {}, id: `extra-${i}` }));
  await Promise.all([app.queue(mail).enqueueMany(bulk), app.queue(hook).enqueueMany(bulk)]);
  const found: string[] = [];
  let cursor: string | null = '';
  let pages = 0;
  while (cursor !== null) {
    const { page } = await slice(app, 'extra-', cursor || undefined);
    expect(page.total).toBe(cursor === '' ? 265 : null);
    found.push(...page.jobs.map(({ queue, id }) => `${queue} ${id}`));
    cursor = page.cursor;
    pages += 1;
  }
  expect(pages).toBeGreaterThan(1);
  expect([found.length, new Set(found).size]).toEqual([260, 260]);
  expect((await slice(app, 'x', '["failed"]')).status).toBe(400);
});

it('takes the same terms in one queue and for an action on all that match', async () => {
  const { app, hook } = await twoQueues();
  await app.queue(hook).enqueue({ customer: { id: 5 } }, { id: 'other', maxAttempts: 1 });
  await app.queue(hook).fail((await app.queue(hook).claim())!, new Error('no'));
  const terms = 'payload.customer.id:4 error:refused';
  const one = await app.get(`/api/search?queue=${hook}&state=failed&text=${encodeURIComponent(terms)}`);
  expect(one.body).toMatchObject({ jobs: [{ id: 'dead' }], searched: 2, unread: 0 });
  const run = { action: 'redrive', queue: hook, state: 'failed', match: { text: terms } };
  expect((await app.post('/api/runs', run)).status).toBe(200);
  await eventually(async () => (await app.queue(hook).get('dead'))!.status === 'pending');
  expect((await app.queue(hook).get('other'))!.status).toBe('failed');
});

it('refuses a bad term, and names the expected one', async () => {
  const { app, hook } = await twoQueues();
  const refused = {
    status: 400,
    body: { error: { message: expect.stringMatching(/^search: expected state: with one of pending/) } },
  };
  const search = `queue=${hook}&state=failed&text=state:dead`;
  expect(await app.get('/api/search/all?text=state:dead')).toMatchObject(refused);
  expect(await app.get(`/api/search?${search}`)).toMatchObject(refused);
  expect(await app.get(`/api/search/count?${search}`)).toMatchObject(refused);
  const run = { action: 'discard', queue: hook, state: 'failed', match: { text: 'state:dead' } };
  expect(await app.post('/api/runs', run)).toMatchObject(refused);
});

it('finds nothing that the viewer may not see, and no hidden value', async () => {
  const { app, mail, hook } = await twoQueues({
    dashboard: {
      redact: ['to'],
      can: (_action, _request, { queue, id }) => !queue?.startsWith('hook') && id !== 'waits',
    },
  });
  expect(await idsOf(app, 'payload.customer.id:4')).toEqual(['done']);
  expect(await everywhere(app, 'x')).toMatchObject({ total: 4 });
  const behind = await everywhere(app, 'payload.customer.id:4', JSON.stringify(['failed', hook, null]));
  expect(behind.jobs.map(({ queue }) => queue)).toEqual([mail]);
  expect(await idsOf(app, 'payload.to:c4*')).toEqual([]);
  expect(await idsOf(app, 'payload:example.com')).toEqual([]);
});

it('says how many payloads were too long to be looked into', async () => {
  const { app, mail } = await twoQueues();
  await app.queue(mail).enqueue({ text: 'x'.repeat(70_000), a: 1 }, { id: 'long' });
  await app.queue(mail).enqueue({ text: 'x'.repeat(50_000), a: 1 }, { id: 'fits' });
  const page = await everywhere(app, 'payload.a:1');
  expect(page).toMatchObject({ jobs: [{ id: 'fits' }], unread: 1 });
});

it('searches queues of other apps as they are shown, and names one that gives no reply', async () => {
  const prefix = uniqueQueueName('fleet');
  const app = await startDashboard({
    jobs: { prefix },
    dashboard: { otherQueues: true },
    providers: [handlerOf('email')],
  });
  const redis = connect();
  const other = new JobQueue(redis, 'emial', { prefix });
  await other.enqueue({ to: 'ada' }, { id: 'mine' });
  await app.queue('email').enqueue({ to: 'ada' }, { id: 'own', delayMs: 60_000 });
  await eventually(async () => (await redis.zscore(`${prefix}:queues`, 'emial')) !== null);
  expect(await idsOf(app, 'payload.to:ada')).toEqual(['own']); // nobody announced what to hide there
  expect(await idsOf(app, 'id:mine')).toEqual(['mine']);
  const registry = app.app.get(QueueRegistry, { strict: false });
  jest.spyOn(registry.reference('emial'), 'exec').mockRejectedValue(new Error('no reply'));
  expect(await everywhere(app, 'payload.to:ada')).toMatchObject({
    jobs: [{ id: 'own' }],
    total: 1,
    cursor: null,
    unreadable: [{ name: 'emial', isOther: true }],
  });
});
