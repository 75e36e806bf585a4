// Who sees and changes what: for each event of the stream, for each id, and for requests of other sites.
import { Permissions } from '#dashboard/security/permissions.js';
import { describe, expect, it } from '@jest/globals';
import type { DashboardAction, DashboardSubject } from 'nest-job-queue/dashboard';
import type { RunView } from '#dashboard/views/views.js';
import { patiently } from '../support/faults/wait.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { startDashboard, type DashboardApp, type Platform } from './dashboard-app.js';
import { openStream } from './stream.js';

const OFF = { worker: false, maintenance: false } as const;
const PLATFORMS: Platform[] = ['express', 'fastify'];

describe.each(PLATFORMS)('the stream on %s', (platform) => {
  it('asks for each queue of each event, also for one that became known later', async () => {
    const [shown, later] = [uniqueQueueName('mail'), uniqueQueueName('card')];
    const hidden = new Set<string>();
    const can = (_action: DashboardAction, _request: object, { queue }: DashboardSubject) =>
      queue === undefined || !hidden.has(queue);
    const app = await startDashboard({ platform, jobs: OFF, dashboard: { queues: [shown], refreshMs: 100, can } });
    const stream = await openStream(app.url);
    await patiently(() => stream.text().includes(shown));
    hidden.add(later);
    await app.queue(later).enqueue({ card: '4111-1111' });
    await app.queue(later).claim({ worker: 'box:1:x' });
    await app.queue(shown).enqueue(null);
    await patiently(() => stream.last().overview?.queues[0]?.depths.pending === 1);
    hidden.add(shown);
    await patiently(() => stream.last().overview?.queues.length === 0);
    expect(stream.text()).not.toMatch(/4111-1111|card|box:1/);
    expect(stream.last()).toMatchObject({ overview: { workers: [], runs: [] } });
    stream.stop();
  });

  it('does not read Redis more often because viewers reopen it', async () => {
    const app = await startDashboard({ platform, jobs: OFF, dashboard: { refreshMs: 60_000 } });
    const first = await openStream(app.url);
    await patiently(() => first.text().includes('overview'));
    first.stop();
    const second = await openStream(app.url);
    await patiently(() => second.text().includes('overview'));
    expect(second.last().overview!.at).toBe(first.last().overview!.at);
    second.stop();
  });

  it('has the headers of the pages', async () => {
    const app = await startDashboard({ platform, jobs: OFF });
    const [stream, page] = [await openStream(app.url), await app.get('')];
    for (const name of [
      'content-security-policy',
      'x-content-type-options',
      'referrer-policy',
      'x-frame-options',
      'cross-origin-opener-policy',
      'cross-origin-resource-policy',
    ]) {
      expect([name, stream.headers.get(name)]).toEqual([name, page.headers.get(name)]);
    }
    expect(stream.headers.get('cache-control')).toContain('no-store');
    stream.stop();
  });
});

it('the stream ends within five seconds for a viewer who may no longer look, and cannot be reopened', async () => {
  let isAllowed = true;
  class Guard {
    canActivate(): boolean {
      return isAllowed;
    }
  }
  const common = { queues: [uniqueQueueName()], refreshMs: 60_000 };
  // All at once, because each stream lasts for seconds.
  const apps = await Promise.all(
    PLATFORMS.flatMap((platform) =>
      [{ can: () => isAllowed }, { guards: [Guard] }].map((decides) =>
        startDashboard({ platform, jobs: OFF, dashboard: { ...common, ...decides } }),
      ),
    ),
  );
  const streams = await Promise.all(apps.map(({ url }) => openStream(url)));
  await patiently(() => streams.every((stream) => stream.text().includes('overview')));
  isAllowed = false;
  const since = Date.now();
  await Promise.all(streams.map(({ ended }) => ended));
  expect(Date.now() - since).toBeLessThan(5_000);
  const again = await Promise.all(apps.map(({ get }) => get('/api/stream')));
  expect(again.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
});

const byId = (_action: string, _request: object, { id }: DashboardSubject) => id !== 'protected';

async function withProtected(can: typeof byId | (() => boolean)): Promise<DashboardApp & { name: string }> {
  const name = uniqueQueueName('mail');
  const app = await startDashboard({ jobs: OFF, dashboard: { queues: [name], can } });
  const queue = app.queue(name);
  for (const id of ['free', 'protected', 'other']) {
    await queue.enqueue({ secret: id }, { id, maxAttempts: 1, group: 'g' });
    await queue.fail((await queue.claim())!, new Error('broken'));
  }
  return { ...app, name };
}

describe('a `can` that decides by id', () => {
  it('is asked for each of several ids, and one refused id refuses all', async () => {
    const app = await withProtected(byId);
    for (const ids of [
      ['free', 'protected'],
      ['protected', 'protected'],
      ['protected', 'free'],
    ]) {
      const reply = await app.post('/api/jobs/act', { action: 'discard', queue: app.name, state: 'failed', ids });
      expect([ids, reply.status]).toEqual([ids, 403]);
    }
    expect((await app.queue(app.name).stats()).failed).toBe(3);
    const free = { action: 'discard', queue: app.name, state: 'failed', ids: ['free', 'other'] };
    expect((await app.post('/api/jobs/act', free)).body).toEqual({ done: 2, spared: 0 });
  });

  it('is asked for each job of a run, which leaves the others alone', async () => {
    const app = await withProtected(byId);
    await app.post('/api/runs', { action: 'redrive', queue: app.name, state: 'failed', match: {} });
    const run = await patiently(async () => {
      const { runs } = (await app.get('/api/runs')).body as { runs: RunView[] };
      return runs.find(({ status }) => status === 'done');
    });
    expect(run).toMatchObject({ done: 2, spared: 1 });
    expect(await app.queue(app.name).get('protected')).toMatchObject({ status: 'failed' });
  });

  it('refuses an action on jobs for which it cannot be asked', async () => {
    const app = await withProtected(byId);
    await app.queue(app.name).enqueue(null, { group: 'g' });
    const clean = { action: 'clean', queue: app.name, group: 'g' };
    const refused = await app.post('/api/groups/act', clean);
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      403,
      expect.stringContaining('cannot ask for each one'),
    ]);
    const open = await withProtected(() => true);
    await open.queue(open.name).enqueue(null, { group: 'g' });
    expect((await open.post('/api/groups/act', { ...clean, queue: open.name })).body).toMatchObject({ done: 1 });
  });

  it('is asked for each group of a queue', async () => {
    const name = uniqueQueueName();
    const { queue, get } = await startDashboard({
      dashboard: { can: (_action, _request, { group }) => group !== 'secret' },
      jobs: { queues: { [name]: {} }, worker: false },
    });
    for (const group of ['open', 'secret']) await queue(name).enqueue(1, { group });
    const { groups } = (await get(`/api/groups?queue=${name}`)).body as { groups: { name: string }[] };
    expect(groups.map((group) => group.name)).toEqual(['open']);
  });

  it('hides the job from lists, searches, finds and groups of errors', async () => {
    const app = await withProtected(byId);
    const paths = ['jobs?state=failed&queue=', 'search?state=failed&queue='].map((each) => each + app.name);
    const answers = await Promise.all([...paths, 'find?id=protected'].map((path) => app.get(`/api/${path}`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(({ body }) => (body.jobs as unknown[]).length)).toEqual([2, 2, 0]);
    expect((await app.get(`/api/job?queue=${app.name}&id=protected`)).status).toBe(403);
    const { body } = await app.get(`/api/errors?queue=${app.name}`);
    expect(body).toMatchObject({ groups: [{ count: 2 }] });
  });

  it('is asked for each member of a batch that is cancelled, in its own queue', async () => {
    const [home, remote] = [uniqueQueueName('book'), uniqueQueueName('page')];
    const can = (action: string, _request: object, { queue, id }: DashboardSubject) =>
      action === 'view' || (queue === home && id !== 'protected');
    const app = await startDashboard({ jobs: OFF, dashboard: { queues: [home, remote], can } });
    const [near, far, free] = ['near', 'far', 'free'].map((id) => app.queue(home).batch({ id }));
    await near!.addMany('page', [
      { id: 'a', payload: 1 },
      { id: 'protected', payload: 2 },
    ]);
    await far!.add('page', 3, { id: 'b', queue: app.queue(remote) });
    await free!.add('page', 4, { id: 'c' });
    for (const batch of [near!, far!, free!]) await batch.seal();
    const statuses = [];
    for (const id of ['near', 'far', 'free']) {
      statuses.push((await app.post('/api/batch/cancel', { queue: home, id })).status);
    }
    expect(statuses).toEqual([403, 403, 200]);
    expect((await app.queue(home).findBatch('near').status()).stopped).toBe(false);
    expect((await app.get(`/api/log?queue=${home}`)).body).toMatchObject({ entries: [{ subject: 'batch free' }] });
  });

  it('hides jobs of other queues: members of a batch, and those before and after a job', async () => {
    const [home, hidden] = [uniqueQueueName('book'), uniqueQueueName('card')];
    const can = (_action: string, _request: object, { queue, id }: DashboardSubject) =>
      queue !== hidden && id !== 'protected';
    const app = await startDashboard({ jobs: OFF, dashboard: { queues: [home, hidden], can } });
    const follower = { name: 'bill', queue: hidden };
    const batch = app.queue(home).batch({ id: 'atlas', finally: follower });
    await batch.add('page', 1, { id: 'a' });
    await batch.add('page', 2, { id: 'b', queue: app.queue(hidden) });
    await batch.seal();
    const first = await app.queue(hidden).enqueue(null, { id: 'before' });
    await app.queue(home).enqueue(null, { id: 'c', after: [first, { queue: home, id: 'a' }] });
    await app.queue(home).enqueue(null, { id: 'protected', after: [{ queue: home, id: 'a' }] });
    const other = app.queue(hidden).batch({ id: 'hidden' });
    await other.add('page', 3, { id: 'd', queue: app.queue(home) });
    await app.queue(home).batch({ id: 'protected' }).seal();
    await app.queue(home).schedules.upsert('protected', { cron: '0 3 * * *' });
    const paths = [
      `batch?id=atlas&queue=${home}`,
      `job?id=c&queue=${home}`,
      `job?id=a&queue=${home}`,
      `job?id=d&queue=${home}`,
    ];
    const shown = await Promise.all(
      [...paths, `batches?queue=${home}`, 'schedules'].map(async (path) => (await app.get(`/api/${path}`)).body),
    );
    expect(shown).toMatchObject([
      { members: [{ id: 'a' }] },
      {
        after: [{ id: 'a' }],
        followedBy: [],
        whyNotRunning: expect.stringMatching(/^It starts after job a and 1 more;/),
      },
      { followedBy: [{ id: 'c' }], batch: { id: 'atlas' } },
      { batch: null },
      { batches: [{ id: 'atlas' }] },
      { schedules: [] },
    ]);
    expect(JSON.stringify(shown)).not.toMatch(/card-|protected/);
  });

  it('shows as many batches, groups and actions as fit, however many before them are hidden', async () => {
    const name = uniqueQueueName();
    const { queue: open, get } = await startDashboard({
      jobs: OFF,
      dashboard: { queues: [name], can: isNotHidden },
    });
    const queue = open(name);
    const end = (id: string) => queue.batch({ id }).seal();
    for (const id of idsOf('seen', 3)) await end(id);
    for (const id of idsOf('hidden', 105)) await end(id);
    await queue.enqueueMany(
      [...idsOf('hidden', 120), ...idsOf('hidden', 120), ...idsOf('seen', 2)].map((group) => ({
        payload: 1,
        group,
      })),
    );
    const operator = queue.as({ via: 'cli', by: 'ada' });
    await operator.cancel('seen');
    for (const id of idsOf('hidden', 201)) await operator.cancel(id);
    const listed = async (path: string) =>
      (await get(`/api/${path}?queue=${name}`)).body as Record<string, object[]>;
    expect((await listed('batches')).ended).toHaveLength(3);
    expect((await listed('groups')).groups).toHaveLength(2);
    expect((await listed('log')).entries).toMatchObject([{ subject: 'job seen' }]);
  });

  it('shows as many schedules of a queue as fit, however many before them are hidden', async () => {
    const name = uniqueQueueName();
    const { queue: open, get } = await startDashboard({
      jobs: OFF,
      dashboard: { queues: [name], can: isNotHidden },
    });
    const { schedules } = open(name);
    await Promise.all(idsOf('hidden', 501).map((id) => schedules.upsert(id, { everyMs: 1_000 })));
    await schedules.upsert('seen', { everyMs: 86_400_000 });
    expect((await get('/api/schedules')).body).toMatchObject({ schedules: [{ id: 'seen' }] });
  });

  it('is asked once for all jobs if it does not read the id', async () => {
    let asked = 0;
    const app = await withProtected(() => ++asked > 0);
    asked = 0;
    const all = { action: 'redrive', queue: app.name, state: 'failed', ids: ['free', 'protected', 'other'] };
    expect((await app.post('/api/jobs/act', all)).body).toEqual({ done: 3, spared: 0 });
    expect(asked).toBe(1);
  });
});

function isNotHidden(_action: string, _request: object, { id, group }: DashboardSubject): boolean {
  return !`${id} ${group}`.includes('hidden');
}

function idsOf(word: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${word}-${i}`);
}

function throwing(): never {
  throw new Error('no session');
}

describe('the action log', () => {
  it.each<[string, () => unknown]>([
    ['throws', throwing],
    ['returns an object', () => ({ name: 'ada' })],
    ['returns a promise', () => Promise.resolve('ada')],
  ])('no job is touched if `user` %s', async (_, user) => {
    const name = uniqueQueueName('mail');
    const app = await startDashboard({ jobs: OFF, dashboard: { queues: [name], user: user as never } });
    const { id } = await app.queue(name).enqueue(null);
    const reply = await app.post('/api/jobs/act', { action: 'remove', queue: name, state: 'pending', ids: [id] });
    expect(reply.status).toBe(500);
    expect((await app.queue(name).stats()).pending).toBe(1);
  });

  it.each([
    ['ada', 'ada'],
    [{ email: 'ada@x.example', username: 'ada', id: 7 }, 'ada@x.example'],
    [{ username: 'ada', name: 'Ada L.', id: 7 }, 'ada'],
    [{ name: 'Ada L.', id: 7 }, 'Ada L.'],
    [{ id: 7 }, '7'],
    [{ roles: [] }, 'unknown'],
  ])('names the user %j of the request, whom a guard has found, as %s', (user, name) => {
    expect(new Permissions({} as never, {} as never).userOf({ user } as never)).toBe(name);
  });

  it('takes a number for a name', async () => {
    const name = uniqueQueueName('mail');
    const app = await startDashboard({ jobs: OFF, dashboard: { queues: [name], user: (() => 17) as never } });
    await app.post('/api/queue/act', { action: 'pause', queue: name });
    expect((await app.get(`/api/log?queue=${name}`)).body).toMatchObject({ entries: [{ by: '17', count: 1 }] });
  });

  it('has the entry before the deed, and keeps it without a count if the end is unknown', async () => {
    const name = uniqueQueueName('mail');
    const app = await startDashboard({ jobs: OFF, dashboard: { queues: [name] } });
    const { id } = await app.queue(name).enqueue(null);
    const queue = app.queue(name);
    const seen: unknown[] = [];
    queue.remove = async () => {
      seen.push(...((await app.get(`/api/log?queue=${name}`)).body.entries as unknown[]));
      throw new Error('the process lost Redis');
    };
    const remove = { action: 'remove', queue: name, state: 'pending', ids: [id] };
    expect((await app.post('/api/jobs/act', remove)).status).toBe(500);
    const entry = { action: 'remove', subject: `job ${id}`, count: null };
    expect(seen).toMatchObject([entry]);
    expect((await app.get(`/api/log?queue=${name}`)).body).toMatchObject({ entries: [entry] });
  });

  it('has no entry of a refused request, and does nothing where the entry cannot be written', async () => {
    const name = uniqueQueueName('mail');
    const app = await startDashboard({ jobs: OFF, dashboard: { queues: [name] } });
    const { id } = await app.queue(name).enqueue(null);
    await app.post('/api/jobs/act', { action: 'redrive', queue: name, state: 'pending', ids: [id] });
    expect((await app.get(`/api/log?queue=${name}`)).body).toMatchObject({ entries: [] });
    await connect().set(`queue:${name}:actions`, 'of another type');
    const remove = { action: 'remove', queue: name, state: 'pending', ids: [id] };
    expect((await app.post('/api/jobs/act', remove)).status).toBe(503);
    expect((await app.queue(name).stats()).pending).toBe(1);
  });

  it('has the start and the stop of a run', async () => {
    const name = uniqueQueueName('mail');
    const app = await startDashboard({ jobs: OFF, dashboard: { queues: [name] } });
    const { body } = await app.post('/api/runs', { action: 'remove', queue: name, state: 'pending', match: {} });
    await app.post('/api/runs/stop', { queue: name, id: body.id });
    const { entries } = (await app.get(`/api/log?queue=${name}`)).body as { entries: object[] };
    expect(entries).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'begin-remove', subject: 'all pending jobs' }),
        expect.objectContaining({ action: 'stop-run', subject: `run ${body.id as string}` }),
      ]),
    );
    const unknown = { queue: name, id: '4c1bb4e0-3f4d-4c3c-8a52-7a1d9a3a4e10' };
    expect((await app.post('/api/runs/stop', unknown)).status).toBe(404);
  });
});

it('limits that were changed here are shown at once', async () => {
  const name = uniqueQueueName('mail');
  const app = await startDashboard({ jobs: OFF, dashboard: { queues: [name], refreshMs: 60_000 } });
  await app.get('/api/overview');
  await app.post('/api/queue/limits', { queue: name, limits: { maxRunning: 3 } });
  expect((await app.get('/api/overview')).body).toMatchObject({
    overview: { queues: [{ limitsSet: { maxRunning: 3 } }] },
  });
});

describe.each<Platform>(['express', 'fastify'])('on %s with CORS for all', (platform) => {
  const foreign: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ];

  it('refuses every read of another site, and serves the page to a link of it', async () => {
    const name = uniqueQueueName('mail');
    const app = await startDashboard({
      platform,
      jobs: OFF,
      dashboard: { queues: [name], origins: ['https://admin.example'] },
      prepare: (nest) => nest.enableCors({ origin: true, credentials: true }),
    });
    const paths = ['session', 'overview', 'stream', `jobs?state=failed&queue=${name}`, `job?queue=${name}&id=a`];
    for (const path of paths) {
      for (const headers of foreign) {
        expect([path, headers, (await app.get(`/api/${path}`, headers)).status]).toEqual([path, headers, 403]);
      }
    }
    const own: Record<string, string>[] = [{ 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }, {}];
    for (const headers of [...own, { origin: 'https://admin.example', 'sec-fetch-site': 'cross-site' }]) {
      expect([headers, (await app.get('/api/session', headers)).status]).toEqual([headers, 200]);
    }
    expect((await app.get('', { 'sec-fetch-site': 'cross-site' })).status).toBe(200);
  });
});
