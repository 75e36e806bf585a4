// The subscriptions of topics in the dashboard, and who may end one.
import { expect, it } from '@jest/globals';
import type { DashboardAction } from 'nest-job-queue/dashboard';
import type { StreamEvent } from '#dashboard/views/overview-changes.js';
import type { TopicsView } from '#dashboard/views/views.js';
import { JobQueue } from '#queue/job-queue.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard } from '../dashboard-app.js';

type Can = (action: DashboardAction, queue?: string) => boolean;

/** Starts a dashboard of the queues of two subscriptions. A live worker has the handler of the first. */
async function start(can: Can = () => true, options: { otherQueues?: boolean | 'operate' } = {}) {
  const prefix = uniqueQueueName('p'); // whose register has no other topics
  const [receipts, stock] = ['receipts', 'stock'].map(
    (name) => new JobQueue(connect(), `order.paid/${name}`, { prefix }),
  ) as [JobQueue, JobQueue];
  const handlers = [{ name: receipts.name, maxAttempts: 1, maxCrashes: 1 }];
  await receipts.exec((calls) => calls.workers.register({ worker: 'host:1:w', serves: true, handlers }));
  const subscriptions = [receipts, stock].map(({ name }) => ({
    topic: 'order.paid',
    name: name.slice(11),
    queue: name,
  }));
  await receipts.exec((calls) => calls.topics.declare({ subscriptions }));
  const queues = options.otherQueues === undefined ? { [receipts.name]: {}, [stock.name]: {} } : {};
  const app = await startDashboard({
    jobs: { prefix, queues, worker: false, maintenance: false },
    dashboard: { can: (action, _request, { queue }) => can(action, queue), user: () => 'ada', ...options },
  });
  const list = async () => (await app.get<TopicsView>('/api/topics')).body.subscriptions;
  const remove = (name: string, queue = `order.paid/${name}`) =>
    app.post('/api/topics/remove', { queue, topic: 'order.paid', subscription: name });
  return { ...app, list, remove, receipts, stock, left: () => stock.topics.list('order.paid') };
}

it('lists each subscription with its queue, and whether a live worker has its handler', async () => {
  const { list, get } = await start();
  expect(await list()).toEqual([
    {
      topic: 'order.paid',
      name: 'receipts',
      queue: 'order.paid/receipts',
      since: expect.any(Number),
      isHandled: true,
      canBeRemoved: false,
    },
    {
      topic: 'order.paid',
      name: 'stock',
      queue: 'order.paid/stock',
      since: expect.any(Number),
      isHandled: false,
      canBeRemoved: true,
    },
  ]);
  expect((await get<StreamEvent>('/api/overview')).body.overview!.hasTopics).toBe(true);
});

it('ends one, with an entry in the action log of its queue', async () => {
  const { remove, left, stock } = await start();
  expect((await remove('stock')).body).toEqual({ done: 1, spared: 0 });
  expect(await left()).toMatchObject([{ name: 'receipts' }]);
  expect(await stock.actionLog.latest()).toMatchObject([
    {
      action: 'remove-subscription',
      subject: 'subscription stock of topic order.paid',
      via: 'dashboard',
      by: 'ada',
      count: 1,
    },
  ]);
  expect(await remove('stock')).toMatchObject({ status: 404 });
});

it('refuses one that a live worker handles, and leaves no entry', async () => {
  const { remove, left, receipts } = await start();
  expect(await remove('receipts')).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('Deploy the app without it first') } },
  });
  expect(await left()).toHaveLength(2);
  expect(await receipts.actionLog.latest()).toEqual([]);
});

it('asks the permission for the queue of the subscription, and believes no other queue', async () => {
  const { list, remove, left } = await start(
    (action, queue) => action === 'view' || queue === 'order.paid/receipts',
  );
  expect(await list()).toMatchObject([{ canBeRemoved: false }, { canBeRemoved: false }]);
  expect(await remove('stock')).toMatchObject({ status: 403 });
  expect(await remove('stock', 'order.paid/receipts')).toMatchObject({ status: 404 });
  expect(await left()).toHaveLength(2);
});

it('shows nothing of a queue that the viewer may not see', async () => {
  const { list, get } = await start((_action, queue) => !queue?.startsWith('order.paid'));
  expect(await list()).toEqual([]);
  expect((await get<StreamEvent>('/api/overview')).body.overview!.hasTopics).toBe(false);
});

it.each([
  [false, 0, false, 404],
  [true, 2, false, 403],
  ['operate', 2, true, 200],
] as const)(
  'with otherQueues %j shows %i subscriptions of another app',
  async (otherQueues, seen, mayRemove, status) => {
    const { list, remove } = await start(undefined, { otherQueues });
    const found = await list();
    expect(found).toHaveLength(seen);
    expect(found.some(({ canBeRemoved }) => canBeRemoved)).toBe(mayRemove);
    expect((await remove('stock')).status).toBe(status); // whose queue has never had a job
  },
);
