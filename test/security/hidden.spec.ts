// A viewer may not see some queues, jobs, groups, schedules and batches. No window names one, in any field or sentence.
import { expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { JobHandler } from 'nest-job-queue';
import { encrypted, type EnqueueOptions, type Job, type JobQueue } from 'nest-job-queue/core';
import type { DashboardRequest, DashboardSubject } from 'nest-job-queue/dashboard';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import type { RunView } from '#dashboard/views/views.js';
import { eventually } from '../support/faults/wait.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { startDashboard, type DashboardApp } from '../dashboard/dashboard-app.js';
import { pathOf, routeSamples } from '../dashboard/route-samples.js';
import { openStream } from '../dashboard/stream.js';

/** What the viewer may not see has this in its name. */
const MARK = 'zhidden';
/** The windows in which a user who may see everything finds what is hidden from others. */
const TELLING = [
  'batch',
  'batches',
  'find',
  'groups',
  'job',
  'jobs',
  'log',
  'overview',
  'schedules',
  'search',
  'search/all',
];
const FAR_MS = 100_000_000;

/** Ids that the library chose, of jobs that the viewer may not see. */
const hiddenIds = new Set<string>();
const isShown = ({ queue = '', id = '', group = '' }: DashboardSubject) =>
  !`${queue} ${id} ${group}`.includes(MARK) && !hiddenIds.has(id);
const nameOf = ({ headers }: DashboardRequest) => String(headers['x-user'] ?? 'viewer');

interface Scene extends DashboardApp {
  shown: JobQueue;
  hidden: JobQueue;
}

/** Starts an app with a queue that is shown, whose parts are tied to hidden ones in each way. */
async function startScene(): Promise<Scene> {
  const [name, hiddenName] = [uniqueQueueName('shown'), uniqueQueueName(MARK)];

  @JobHandler(name, { concurrency: 20, maxAttempts: 1 })
  class Handler {
    async handle({ payload: { does }, signal }: Job<{ does?: string }>): Promise<void> {
      if (does === 'fail') throw new Error('no');
      if (does === 'run') await new Promise((resolve) => signal.addEventListener('abort', resolve));
    }
  }
  const app = await startDashboard({
    providers: [Handler],
    jobs: { maintenance: false, queues: { [name]: { groups: { maxRunning: 1, onDeadHead: 'hold' } } } },
    dashboard: {
      queues: [hiddenName],
      refreshMs: 100,
      can: (_action, request, subject) => nameOf(request) === 'root' || isShown(subject),
      user: nameOf,
    },
  });
  const [shown, hidden] = [app.queue(name), app.queue(hiddenName)];
  const add = (id: string, options: EnqueueOptions = {}, does?: 'fail' | 'run') =>
    shown.enqueue({ does }, { id, ...options });
  await add('tied', { after: [await add(`${MARK}-before`, { delayMs: FAR_MS })] });
  await add('tied-far', { after: [await hidden.enqueue({}, { id: `${MARK}-far`, delayMs: FAR_MS })] });
  await add('tied-both', { after: [`${MARK}-before`, (await add('seen', { delayMs: FAR_MS })).id] });
  await add(`${MARK}-follows`, { after: ['seen'] });
  await add('unmet', { after: [await add(`${MARK}-cancelled`, { delayMs: FAR_MS })] });
  const root = { 'x-user': 'root' };
  const did = async (path: string, body: object) =>
    expect(await app.post(`/api/${path}`, body, root)).toMatchObject({ status: 200 });
  await did('jobs/act', { action: 'cancel', queue: name, state: 'scheduled', ids: [`${MARK}-cancelled`] });
  await maintainBatches(shown);
  await add(`${MARK}-runs`, {}, 'run');
  await add('runs', { group: `${MARK}-group` }, 'run');
  await add('in-group', { group: `${MARK}-group` }, 'run');
  await add(`${MARK}-dead`, { group: 'held' }, 'fail');
  await eventually(async () => (await shown.get(`${MARK}-dead`))?.status === 'failed');
  await add('is-held', { group: 'held' });
  await add('died', {}, 'fail');
  await shown.schedules.upsert(`${MARK}-schedule`, { everyMs: FAR_MS }, { payload: {} });
  await shown.schedules.upsert('seen-schedule', { everyMs: FAR_MS }, { payload: {} });
  await shown.schedules.runNow(`${MARK}-schedule`);
  hiddenIds.add((await shown.schedules.runNow('seen-schedule')).id);
  hiddenIds.add((await shown.deadLetters.redriveAsNew('died')).id);

  const batch = shown.batch({ id: 'batch', finally: { queue: hiddenName, name: hiddenName, payload: {} } });
  await batch.add(name, {}, { id: 'member', delayMs: FAR_MS });
  await batch.add(hiddenName, {}, { id: `${MARK}-open`, delayMs: FAR_MS });
  await batch.add(hiddenName, {}, { id: `${MARK}-lost`, delayMs: FAR_MS });
  await batch.add(name, {}, { id: `${MARK}-gone`, delayMs: FAR_MS });
  await batch.seal();
  const other = shown.batch({ id: `${MARK}-batch` });
  await other.add(name, {}, { id: 'of-hidden-batch', delayMs: FAR_MS });
  await other.seal();
  const redis = connect();
  await redis.del(`queue:${hiddenName}:job:${MARK}-lost`, `queue:${name}:job:${MARK}-gone`);
  await redis.zrem(`queue:${hiddenName}:scheduled`, `${MARK}-lost`);
  await redis.zrem(`queue:${name}:scheduled`, `${MARK}-gone`);

  await did('groups/act', { action: 'pause', queue: name, group: `${MARK}-group`, reason: 'slow' });
  await did('schedules/act', { action: 'pause', queue: name, id: `${MARK}-schedule` });
  await did('groups/limits', { queue: name, group: `${MARK}-group`, limits: { maxRunning: 2 } });
  await did('runs', { action: 'remove', queue: name, state: 'completed', match: { text: `${MARK}-search` } });
  await did('runs', { action: 'redrive', queue: name, state: 'failed', match: { group: 'kind' } });
  return { ...app, shown, hidden };
}

/** Reads each window that the viewer may open, with each thing that may be seen. Returns the texts by the request. */
async function look(app: Scene, user = 'viewer'): Promise<Map<string, string>> {
  const { name: queue } = app.shown;
  const ids = [
    'unmet',
    'tied',
    'tied-far',
    'tied-both',
    'seen',
    'runs',
    'in-group',
    'is-held',
    'died',
    'of-hidden-batch',
    'member',
  ];
  const inputs: Record<string, Record<string, string>[]> = {
    'GET api/job': ids.map((id) => ({ queue, id })),
    'GET api/job/file': ids.map((id) => ({ queue, id, part: 'payload' })),
    'GET api/find': [...ids, `${MARK}-dead`].map((id) => ({ id })),
    'GET api/batch': [{ queue, id: 'batch' }],
    'GET api/schedule': [{ queue, id: 'seen-schedule' }],
    'GET api/jobs': ['pending', 'processing', 'scheduled', 'completed', 'failed', 'cancelled'].map((state) => ({
      queue,
      state,
    })),
    'GET api/search': ['pending', 'scheduled', 'failed'].map((state) => ({ queue, state, text: 'e' })),
  };
  const texts = new Map<string, string>();
  for (const [route, [sample]] of Object.entries(routeSamples(queue))) {
    const [method, path] = pathOf(route);
    if (method !== 'GET' || path.endsWith('stream') || !path.startsWith('api/')) continue;
    for (const input of inputs[route] ?? [sample![0] as Record<string, string>]) {
      const query = new URLSearchParams(input).toString();
      const { body } = await app.get(`/${path}?${query}`, { 'x-user': user });
      const asked = JSON.stringify(input);
      texts.set(`${route} ${asked}`, JSON.stringify(body).replaceAll(asked, ''));
    }
  }
  const stream = await openStream(app.url);
  await eventually(() => stream.text().includes('"overview"'));
  await app.shown.enqueue({}, { delayMs: FAR_MS });
  const before = stream.text().length;
  await eventually(() => stream.text().length > before);
  stream.stop();
  return texts.set('stream', stream.text());
}

/** Returns the requests whose replies name what is hidden, with the words around it. */
function leaks(texts: ReadonlyMap<string, string>): string[] {
  return [...texts].flatMap(([window, text]) => {
    const at = [MARK, ...hiddenIds].map((mark) => text.indexOf(mark)).find((place) => place >= 0);
    return at === undefined ? [] : [`${window}: …${text.slice(Math.max(0, at - 80), at + 40)}…`];
  });
}

it('no window names a hidden queue, job, group, schedule or batch', async () => {
  const app = await startScene();
  const texts = await look(app);
  expect(leaks(texts)).toEqual([]);
  expect(texts.get(`GET api/job {"queue":"${app.shown.name}","id":"tied"}`)).toContain(
    'a job that you may not see',
  );
  expect(texts.get(`GET api/job {"queue":"${app.shown.name}","id":"is-held"}`)).toContain(
    'waits for a job that you',
  );
  const unmet = texts.get(`GET api/job {"queue":"${app.shown.name}","id":"unmet"}`);
  expect(unmet).toContain('A job that you may not see, after which this job was to start, was cancelled');
  const named = leaks(await look(app, 'root')).map((leak) => leak.slice(0, leak.indexOf(' {')));
  expect(new Set(named)).toEqual(new Set(TELLING.map((path) => `GET api/${path}`)));
}, 60_000);

it('keeps no search of a run in Redis, nor in the log of actions', async () => {
  const name = uniqueQueueName('secret');
  const codec = encrypted([{ id: 'a', key: randomBytes(32) }]);
  const app = await startDashboard({
    jobs: { worker: false, queues: { [name]: { codec } } },
    dashboard: { queues: [name] },
  });
  await app.queue(name).enqueue({ to: 'ada' });
  const match = { text: `${MARK} search` };
  const run = { action: 'remove', queue: name, state: 'pending', match };
  expect(await app.post('/api/runs', run)).toMatchObject({ status: 200 });
  await eventually(
    async () => ((await app.get('/api/runs')).body as { runs: RunView[] }).runs[0]?.status === 'done',
  );
  const redis = connect();
  const kept = [
    await redis.hgetall(`queue:${name}:bulk_runs`),
    await redis.xrange(`queue:${name}:actions`, '-', '+'),
  ];
  expect(JSON.stringify(kept)).toContain('that match a search');
  expect(JSON.stringify(kept)).not.toContain(MARK);
  expect(JSON.stringify((await app.get('/api/runs')).body)).not.toContain(MARK);
});
