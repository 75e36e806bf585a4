// The limits that queues share in the dashboard, and what a viewer may do with them.
import { expect, it, jest } from '@jest/globals';
import type { DashboardAction } from 'nest-job-queue/dashboard';
import type { SharedKeysView } from '#dashboard/views/views.js';
import type { StreamEvent } from '#dashboard/views/overview-changes.js';
import { JobQueue } from '#queue/job-queue.js';
import { SharedLimit } from '#queue/operate/shared-limit.js';
import { storeOfKey } from '#queue/validation/names.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard } from '../dashboard-app.js';

/** Seeds two queues whose workers name a limit. Chat holds its only permit, and summary waits. */
async function seed() {
  const limit = uniqueQueueName('openai');
  const redis = connect();
  const [chat, summary] = ['chat', 'summary'].map((name) => new JobQueue(redis, uniqueQueueName(name))) as [
    JobQueue,
    JobQueue,
  ];
  const values = { maxRunning: 1, rateLimit: { limit: 500, periodMs: 60_000, burst: 20 } };
  await chat.exec((calls) => calls.sharedLimits.declare({ limit, values }));
  for (const queue of [chat, summary]) {
    await queue.enqueue(1);
    await queue.exec((calls) => calls.workers.register({ worker: 'host:1:w', serves: true }));
    const details = { host: 'host', pid: 1, slots: 10, limits: [limit] };
    await queue.exec((calls) => calls.workers.describe({ worker: 'host:1:w', details, ageMs: 0 }));
    const lease = { limit, worker: 'host:1:w', token: 't', count: 1, lifeMs: 60_000, declares: true };
    await queue.exec((calls) => calls.sharedLimits.lease(lease));
  }
  return { limit, chat, summary, shared: chat.sharedLimit(limit) };
}

/** Lets summary hold a permit of the key acme, and notes it and bolt, the last. */
async function seedKeys({ limit, summary }: Awaited<ReturnType<typeof seed>>) {
  await summary.exec((calls) => calls.sharedLimits.noteKeys({ limit, used: ['acme'] }));
  const ofLimit = { maxRunning: 1, rateLimit: { limit: 500, periodMs: 60_000, burst: 20 } };
  const lease = { worker: 'host:1:w', token: 't', count: 1, lifeMs: 60_000, declares: false, ofLimit };
  await summary.exec((calls) => calls.sharedLimits.lease({ ...lease, limit: storeOfKey(limit, 'acme') }));
  await summary.exec((calls) => calls.sharedLimits.noteKeys({ limit, used: ['bolt'] }));
}

type Can = (action: DashboardAction, queue?: string, group?: string) => boolean;

async function start({ chat, summary }: Awaited<ReturnType<typeof seed>>, can: Can = () => true, more = {}) {
  const app = await startDashboard({
    jobs: { queues: { [chat.name]: {}, [summary.name]: {}, ...more }, worker: false, maintenance: false },
    dashboard: { can: (action, _request, { queue, group }) => can(action, queue, group), user: () => 'ada' },
  });
  const limits = async () => (await app.get<StreamEvent>('/api/overview')).body.overview!.sharedLimits;
  return { ...app, limits };
}

it('shows who holds a limit, what waits for it, and its values', async () => {
  const seeded = await seed();
  const { limit, chat, summary } = seeded;
  const { limits } = await start(seeded);
  expect(await limits()).toEqual([
    expect.objectContaining({
      name: limit,
      queues: [chat.name, summary.name],
      maxRunning: 1,
      rates: [{ limit: 500, periodMs: 60_000, burst: 20 }],
      isSet: false,
      running: 1,
      holders: [{ queue: chat.name, permits: 1, workers: 1 }],
      waiting: [summary.name],
      pausedAt: null,
    }),
  ]);
});

it('names no queue that the viewer may not see, also in a verdict', async () => {
  const seeded = await seed();
  const { chat, summary } = seeded;
  const { limits, get } = await start(seeded, (_action, queue) => queue !== chat.name);
  expect(await limits()).toEqual([expect.objectContaining({ queues: [summary.name], running: 1, holders: [] })]);
  expect(JSON.stringify((await get('/api/overview')).body)).not.toContain(chat.name);
});

it('pauses, sets, clears and resumes it, with an entry in the action log each', async () => {
  const seeded = await seed();
  const { limit, chat, shared } = seeded;
  const { post } = await start(seeded);
  const send = async (path: string, input: object) =>
    (await post(`/api/shared-limits/${path}`, { queue: chat.name, limit, ...input })).body;
  expect(await send('act', { action: 'pause', reason: 'new key', forMs: 60_000 })).toEqual({ done: 1, spared: 0 });
  expect(await shared.get()).toMatchObject({
    pausedBy: 'ada',
    pauseReason: 'new key',
    pausedUntil: expect.any(Date),
  });
  expect(await send('set', { limits: { maxRunning: 5 } })).toEqual({ done: 1, spared: 0 });
  expect(await shared.get()).toMatchObject({ source: 'set', maxRunning: 5, rateLimit: [{ limit: 500 }] });
  expect(await send('set', { limits: null })).toEqual({ done: 1, spared: 0 });
  expect(await shared.get()).toMatchObject({ source: 'configuration', maxRunning: 1 });
  expect(await send('act', { action: 'resume' })).toEqual({ done: 1, spared: 0 });
  expect(await send('act', { action: 'resume' })).toEqual({ done: 0, spared: 0 });
  const log = await chat.actionLog.latest();
  expect(log.map(({ action, subject, by, count }) => [action, subject, by, count])).toEqual([
    ['resume-shared-limit', `shared limit ${limit}`, 'ada', 0],
    ['resume-shared-limit', `shared limit ${limit}`, 'ada', 1],
    ['clear-shared-limit', `shared limit ${limit}`, 'ada', 1],
    ['shared-limit', `shared limit ${limit}: at most 5 run at once`, 'ada', 1],
    ['pause-shared-limit', `shared limit ${limit}: for 1 min, new key`, 'ada', 1],
  ]);
});

it('needs the permission in each queue that shares the limit', async () => {
  const seeded = await seed();
  const { limit, chat, summary, shared } = seeded;
  const { post } = await start(seeded, (action, queue) => action === 'view' || queue !== summary.name);
  for (const [path, input] of [
    ['act', { action: 'pause' }],
    ['act', { action: 'resume' }],
    ['set', { limits: { maxRunning: 9 } }],
  ] as const) {
    const { status } = await post(`/api/shared-limits/${path}`, { queue: chat.name, limit, ...input });
    expect([input, status]).toEqual([input, 403]);
  }
  expect(await shared.get()).toMatchObject({ source: 'configuration' });
  expect(await shared.get()).not.toHaveProperty('pausedAt');
});

it.each([
  ['is used by workers of the fleet that are away', false],
  ['is named in the code of this process', true],
])('needs it also in a queue without workers, if the limit %s', async (_, isInCode) => {
  const seeded = await seed();
  const { limit, chat } = seeded;
  const away = new JobQueue(connect(), uniqueQueueName('away'));
  if (!isInCode) await away.exec((calls) => calls.sharedLimits.declare({ limit, values: {} }));
  const { post } = await start(
    seeded,
    (action, queue) => action === 'view' || queue !== away.name,
    isInCode ? { [away.name]: { limits: [limit] } } : {},
  );
  const { status } = await post('/api/shared-limits/act', { queue: chat.name, limit, action: 'pause' });
  expect(status).toBe(403);
});

it('changes no limit that the queue does not name', async () => {
  const [seeded, other] = [await seed(), await seed()];
  const { post } = await start(seeded);
  const input = { queue: seeded.chat.name, limit: other.limit, action: 'pause' };
  const { status, body } = await post('/api/shared-limits/act', input);
  expect([status, body]).toMatchObject([404, { error: { message: expect.stringContaining('names this limit') } }]);
  expect(await other.shared.get()).not.toHaveProperty('pausedAt');
  expect(await seeded.chat.actionLog.latest()).toEqual([]);
});

it('shows the keys that were used last, with what each runs and what was set for it', async () => {
  const seeded = await seed();
  const { limit, chat, shared } = seeded;
  await seedKeys(seeded);
  await shared.pause({ by: 'ada' });
  await shared.key('bolt').change({ maxRunning: 7 });
  await shared.key('bolt').pause({ by: 'bob', reason: 'they asked' });
  const { get, limits } = await start(seeded);
  expect(await limits()).toMatchObject([{ name: limit, hasKeys: true, running: 1 }]);
  const { body } = await get<SharedKeysView>(`/api/shared-limits/keys?queue=${chat.name}&limit=${limit}`);
  const rates = [{ limit: 500, periodMs: 60_000, burst: 20 }];
  expect(body).toEqual({
    keys: [
      expect.objectContaining({
        name: 'bolt',
        running: 0,
        maxRunning: 7,
        rates,
        isSet: true,
        pausedBy: 'bob',
        pauseReason: 'they asked',
      }),
      expect.objectContaining({ name: 'acme', running: 1, maxRunning: 1, rates, isSet: false, pausedAt: null }),
    ],
    unread: [],
    hasMore: false,
  });
});

it('shows the other keys if one of them gives no reply, and names that one', async () => {
  const seeded = await seed();
  const { limit, chat } = seeded;
  await seedKeys(seeded);
  const { get } = await start(seeded);
  const { getUnder } = SharedLimit.prototype;
  const silent = jest.spyOn(SharedLimit.prototype, 'getUnder').mockImplementation(function (this: SharedLimit, of) {
    const { limit: store } = this as unknown as { limit: string };
    return store.endsWith('#acme') ? new Promise(() => undefined) : getUnder.call(this, of);
  });
  const { body } = await get<SharedKeysView>(`/api/shared-limits/keys?queue=${chat.name}&limit=${limit}`);
  silent.mockRestore();
  expect(body.keys.map(({ name }) => name)).toEqual(['bolt']);
  expect(body.unread).toEqual(['acme']);
});

it('shows at most fifty keys, and says that there are more', async () => {
  const seeded = await seed();
  const { limit, chat } = seeded;
  const used = Array.from({ length: 51 }, (_, i) => `tenant-${i}`);
  await chat.exec((calls) => calls.sharedLimits.noteKeys({ limit, used }));
  const { get } = await start(seeded);
  const { body } = await get<SharedKeysView>(`/api/shared-limits/keys?queue=${chat.name}&limit=${limit}`);
  expect([body.keys.length, body.hasMore]).toEqual([50, true]);
});

it('pauses, sets, clears and resumes one key, with an entry in the action log each', async () => {
  const seeded = await seed();
  const { limit, chat, shared } = seeded;
  await seedKeys(seeded);
  const { post } = await start(seeded);
  const acme = shared.key('acme');
  const send = async (path: string, input: object) =>
    (await post(`/api/shared-limits/${path}`, { queue: chat.name, limit, key: 'acme', ...input })).body;
  expect(await send('act', { action: 'pause', reason: 'they asked' })).toEqual({ done: 1, spared: 0 });
  expect(await acme.get()).toMatchObject({ pausedBy: 'ada', pauseReason: 'they asked' });
  expect(await send('set', { limits: { maxRunning: 5 } })).toEqual({ done: 1, spared: 0 });
  expect(await acme.get()).toMatchObject({ source: 'set', maxRunning: 5 });
  expect(await send('set', { limits: null })).toEqual({ done: 1, spared: 0 });
  expect(await acme.get()).toMatchObject({ source: 'configuration', maxRunning: 1 });
  expect(await send('act', { action: 'resume' })).toEqual({ done: 1, spared: 0 });
  expect(await shared.get()).toMatchObject({ source: 'configuration', maxRunning: 1 });
  const log = await chat.actionLog.latest();
  expect(log.map(({ action, subject }) => [action, subject])).toEqual([
    ['resume-shared-limit', `shared limit ${limit} of acme`],
    ['clear-shared-limit', `shared limit ${limit} of acme`],
    ['shared-limit', `shared limit ${limit} of acme: at most 5 run at once`],
    ['pause-shared-limit', `shared limit ${limit} of acme: they asked`],
  ]);
});

it('shows and steers a key only with the permission for its group in each queue', async () => {
  const seeded = await seed();
  const { limit, chat, summary, shared } = seeded;
  await seedKeys(seeded);
  const { get, post } = await start(seeded, (_, queue, group) => queue !== summary.name || group !== 'acme');
  const { body } = await get<SharedKeysView>(`/api/shared-limits/keys?queue=${chat.name}&limit=${limit}`);
  expect(body.keys.map(({ name }) => name)).toEqual(['bolt']);
  const pause = (key: string) => post('/api/shared-limits/act', { queue: chat.name, limit, key, action: 'pause' });
  expect([(await pause('acme')).status, (await pause('bolt')).status]).toEqual([403, 200]);
  expect(await shared.key('acme').get()).not.toHaveProperty('pausedAt');
});
