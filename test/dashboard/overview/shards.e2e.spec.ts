// A queue with shards is one row of the overview, and each shard is behind it.
import { expect, it, jest } from '@jest/globals';
import type { DashboardOptions } from 'nest-job-queue/dashboard';
import { QueueRegistry } from '#nest/connection/queue-registry.js';
import { shardNames } from '#queue/model/spread.js';
import type { LogView, OverviewView, QueueView } from '#dashboard/views/views.js';
import { eventually } from '../../support/faults/wait.js';
import { testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { startDashboard } from '../dashboard-app.js';

const SHARDS = 4;

/** Starts an app with a queue of four shards and a plain one. No worker runs. */
async function startShards(dashboard: DashboardOptions = {}) {
  const [name, plain] = [uniqueQueueName('ingest'), uniqueQueueName('plain')];
  const app = await startDashboard({
    jobs: { queues: { [name]: { spread: SHARDS }, [plain]: {} }, worker: false, maintenance: false },
    dashboard,
  });
  const overview = async () => (await app.get<{ overview: OverviewView }>('/api/overview')).body.overview;
  return { app, name, plain, names: shardNames(name, SHARDS), overview };
}

it('shows the sums and the highest age in one row, and the shards apart', async () => {
  const { app, name, plain, names, overview } = await startShards();
  await Promise.all(Array.from({ length: 8 }, () => app.jobs.enqueue(name, null)));
  const { queues, shards, unreadable, sentence } = await overview();
  expect(queues.map((queue) => queue.name)).toEqual([name, plain]);
  const [row] = queues as [QueueView];
  expect(row).toMatchObject({ depths: { pending: 8 }, totals: { enqueued: 8 }, verdict: { queue: name } });
  const read = shards as QueueView[];
  expect(read.map((shard) => shard.name).toSorted()).toEqual(names.toSorted());
  expect(row.shards!.toSorted()).toEqual(names.toSorted());
  expect(read.map(({ depths }) => depths.pending)).toEqual([2, 2, 2, 2]);
  expect(row.oldestPendingAgeMs).toBe(Math.max(...read.map((shard) => shard.oldestPendingAgeMs)));
  expect(unreadable).toEqual([]);
  expect(sentence.sentence).toBe('All 2 queues flow.');
});

it('is paused once all shards are', async () => {
  const { app, name, names, overview } = await startShards();
  await app.jobs.shards(name)[2]!.pause();
  const { queues, shards } = await overview();
  expect(queues.find((row) => row.name === name)!.pausedAt).toBeNull();
  expect(shards.find((shard) => shard.name === names[2])).toMatchObject({ pausedAt: expect.any(Number) });
  await app.jobs.pause(name);
  await Promise.all(names.map(() => app.jobs.enqueue(name, null)));
  const row = await eventually(async () =>
    (await overview()).queues.find((each) => each.name === name && each.pausedAt !== null),
  );
  expect(row).toMatchObject({
    verdict: { remedyAt: { at: 'command', command: `npx nest-job-queue resume ${name}` } },
  });
});

it('names a shard that gives no reply in the row, and shows the others', async () => {
  const { app, name, names, overview } = await startShards();
  await Promise.all(Array.from({ length: 8 }, () => app.jobs.enqueue(name, null)));
  const registry = app.app.get(QueueRegistry, { strict: false });
  jest.spyOn(registry.requested(names[2]!), 'stats').mockRejectedValue(new Error('no reply'));
  const { queues, shards, unreadable } = await overview();
  expect(queues[0]).toMatchObject({
    name,
    depths: { pending: 6 },
    shards: [names[2], expect.any(String), expect.any(String), expect.any(String)],
    verdict: {
      severity: 'warning',
      state: 'unreadable',
      queue: names[2],
      sentence: `Shard \`${names[2]!}\`: unreadable: No answer came. The log of the app says more.`,
    },
  });
  expect(unreadable).toEqual([]);
  expect(shards.find((shard) => shard.name === names[2])).not.toHaveProperty('depths');
});

it('asks `can` about the queue, never about a shard', async () => {
  const asked = new Set<string | undefined>();
  let hidden = '';
  const { app, name, plain, names, overview } = await startShards({
    can: (_action, _request, { queue }) => {
      asked.add(queue);
      return queue !== hidden;
    },
  });
  await Promise.all(Array.from({ length: 8 }, () => app.jobs.enqueue(name, null)));
  const whole = await overview();
  expect(whole.queues.find((row) => row.name === name)).toMatchObject({ depths: { pending: 8 } });
  hidden = name;
  const { queues, shards } = await overview();
  expect([queues.map((row) => row.name), shards]).toEqual([[plain], []]);
  const shard = encodeURIComponent(names[1]!);
  expect((await app.get(`/api/jobs?queue=${shard}&state=pending`)).status).toBe(403);
  expect([...asked].filter((queue) => names.slice(1).includes(queue!))).toEqual([]);
});

it('joins the shards of a queue that the app does not know', async () => {
  const { name, names, app } = await startShards();
  await Promise.all(Array.from({ length: 8 }, () => app.jobs.enqueue(name, null)));
  const other = await startDashboard({ jobs: { redis: testRedisUrl() }, dashboard: { queues: names } });
  const { queues } = (await other.get<{ overview: OverviewView }>('/api/overview')).body.overview;
  expect(queues).toMatchObject([{ name, depths: { pending: 8 }, shards: expect.any(Array) }]);
});

it('pauses and resumes all shards: one permission, and one row of the log', async () => {
  const asked: string[] = [];
  const { app, name, names } = await startShards({
    can: (action, _request, { queue }) => {
      if (action !== 'view') asked.push(`${action} ${queue!}`);
      return action !== 'resume';
    },
  });
  await Promise.all(names.map(() => app.jobs.enqueue(name, null)));
  const act = (body: object) => app.post('/api/queue/act', { queue: name, allShards: true, ...body });
  const paused = () => Promise.all(app.jobs.shards(name).map(async (shard) => (await shard.stats()).pauseReason));
  expect(await act({ action: 'pause', reason: 'deploy' })).toMatchObject({ status: 200, body: { done: SHARDS } });
  expect(await paused()).toEqual(names.map(() => 'deploy'));
  expect(asked).toEqual([`pause ${name}`]);
  const { entries } = (await app.get<LogView>('/api/log')).body;
  expect(entries).toMatchObject([{ action: 'pause', queue: name, count: SHARDS, via: 'dashboard' }]);
  expect((await act({ action: 'resume' })).status).toBe(403);
  expect(await paused()).toEqual(names.map(() => 'deploy'));
});

it('goes on without a shard that fails, names it, and refuses what would hold for each shard alone', async () => {
  const { app, name, names } = await startShards();
  const registry = app.app.get(QueueRegistry, { strict: false });
  const silent = registry.requested(names[2]!);
  jest.spyOn(silent, 'as').mockReturnValue(silent);
  jest.spyOn(silent, 'pause').mockRejectedValue(new Error('no reply'));
  const act = (body: object) => app.post('/api/queue/act', { queue: name, allShards: true, ...body });
  expect(await act({ action: 'pause' })).toMatchObject({
    status: 200,
    body: { done: SHARDS - 1, unreached: [names[2]] },
  });
  expect((await act({ action: 'resume', first: 10 })).status).toBe(400);
  const paused = await Promise.all(
    app.jobs.shards(name).map(async (shard) => (await shard.stats()).pausedAt !== null),
  );
  expect(paused).toEqual([true, true, false, true]);
  expect((await act({ action: 'pause', queue: 'nowhere' })).status).toBe(404);
});
