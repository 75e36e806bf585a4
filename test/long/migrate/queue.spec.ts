// A live queue moves to another Redis while its mover is killed 35 times, and back with as many. Another one moves to a Cluster
// and back, while five movers are killed on each way.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { EXIT } from '#cli/exit-codes.js';
import { cli } from '../../cli/run-cli.js';
import { DEATHS } from '../../support/migrate/deaths.js';
import { LiveQueue } from '../../support/migrate/live-queue.js';
import { idsIn, queueScene } from '../../support/migrate/queue-scene.js';
import { killQueueMovers } from '../../support/migrate/run-queue-mover.js';
import { startCluster } from '../../support/redis/own-cluster.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { newQueue } from '../../support/worker/workers.js';

const JOBS = Number(process.env.LIVE_JOBS ?? 20_000);
const KILLS = 35;
/** The jobs and the deaths of each way between a server and a Cluster. */
const [CLUSTER_JOBS, CLUSTER_KILLS] = [2_000, DEATHS.length];
/** The jobs that are added where a mover found too few to die. */
const MORE = 300;

interface Way {
  /** The queue at the place that it leaves, and the address of that place. */
  from: JobQueue;
  fromUrl: string;
  to: JobQueue;
  toUrl: string;
}

/** Moves a queue while jobs are added at its old place. Movers die one after another. Returns when all jobs have ended. */
async function moveLive(live: LiveQueue, { from, fromUrl, to, toUrl }: Way, jobs: number, kills: number) {
  const produced = live.add(from, live.count + jobs);
  const settings = { from: fromUrl, to: toUrl, queue: from.name, quietMs: 500 };
  const died = await killQueueMovers(settings, kills, () => produced.then(() => live.add(from, live.count + MORE)));
  await produced;
  await live.expectEach({ from, to }, 300_000);
  expect(died).toBe(kills);
}

/** Moves a live queue there, and then back over the same number of deaths. */
async function thereAndBack(way: Way, jobs: number, kills: number): Promise<void> {
  const { from, fromUrl, to, toUrl } = way;
  const live = new LiveQueue();
  await live.work(from, 'there', 2);
  await live.work(to, 'here', 2);
  await moveLive(live, way, jobs, kills);
  const movedThere = live.ranAt('here');
  expect(movedThere).toBeGreaterThan(jobs / 10);
  const ranBefore = live.ranAt('there');
  await from.resume(); // the move there has paused it
  await moveLive(live, { from: to, fromUrl: toUrl, to: from, toUrl: fromUrl }, jobs, kills);
  const movedBack = live.ranAt('there') - ranBefore;
  expect(movedBack).toBeGreaterThan(jobs / 10);
  console.log({ kills, jobs: live.count, movedThere, movedBack }); // the figures of this run
}

it('moves a live queue to another Redis and back: 0 missing, 0 twice', async () => {
  const [{ url: fromUrl }, { url: toUrl }] = [await startOwnRedis(), await startOwnRedis()];
  const name = uniqueQueueName('live');
  const from = newQueue({}, connect({}, fromUrl), name);
  const to = newQueue({}, connect({}, toUrl), name);
  await thereAndBack({ from, fromUrl, to, toUrl }, JOBS, KILLS);
}, 1_800_000);

it('moves a live queue from a server to a Cluster and back: 0 missing, 0 twice', async () => {
  const [{ url: fromUrl }, cluster] = [await startOwnRedis(), await startCluster()];
  const name = uniqueQueueName('live-cluster');
  const from = newQueue({}, connect({}, fromUrl), name);
  const client = cluster.connect();
  const to = newQueue({}, client, name);
  const toUrl = cluster.nodes.map(({ url }) => url).join(',');
  await thereAndBack({ from, fromUrl, to, toUrl }, Math.min(JOBS, CLUSTER_JOBS), CLUSTER_KILLS);
}, 600_000);

it('moves to a Cluster by the command', async () => {
  const [{ url }, cluster] = [await startOwnRedis(), await startCluster()];
  const queue = newQueue({}, connect({}, url), uniqueQueueName('command'));
  for (const id of ['a', 'b']) await queue.enqueue(1, { id });
  const nodes = cluster.nodes.map((node) => node.url).join(',');
  const place = ['--redis', url, '--to', nodes, '--to-cluster'];
  const { code, stdout } = await cli(['migrate', 'queue', queue.name, ...place, '--json']);
  expect(code).toBe(EXIT.ok);
  expect(JSON.parse(stdout)).toMatchObject({ moved: { pending: 2 }, left: [] });
  const client = cluster.connect();
  const there = new JobQueue(client, queue.name);
  expect(await idsIn(there)).toEqual(['a', 'b']);
  there.close();
  client.disconnect();
}, 120_000);

it('moves from a server to a Cluster and back', async () => {
  const [{ url }, cluster] = [await startOwnRedis(), await startCluster()];
  const name = uniqueQueueName('cluster');
  const from = newQueue({}, connect({}, url), name);
  const client = cluster.connect();
  const to = new JobQueue(client, name);
  const { run, back } = queueScene(from, to);
  for (const id of ['a', 'b', 'c']) await from.enqueue(1, { id, group: id === 'c' ? 'g' : undefined });
  await from.enqueue(1, { id: 'n' });
  await from.enqueue(1, { id: 'w', after: ['n'] });
  const batch = from.batch({ then: { name: 'last' } });
  await batch.add('part', 1, { id: 'p' });
  await batch.seal();
  await from.schedules.upsert('nightly', { cron: '0 3 * * *', timeZone: 'UTC' }, { name: 'work' });
  await run();
  expect(await idsIn(from)).toEqual([]);
  expect((await idsIn(to)).toSorted()).toEqual(['a', 'b', 'c', 'n', 'p']);
  await back();
  expect((await idsIn(from)).toSorted()).toEqual(['a', 'b', 'c', 'n', 'p']);
  const ran: string[] = [];
  for (let job = await from.claim(); job; job = await from.claim()) {
    ran.push(job.name === 'last' ? 'last' : job.id);
    await from.complete(job, null);
  }
  expect(ran.toSorted()).toEqual(['a', 'b', 'c', 'last', 'n', 'p', 'w']);
  expect((await from.schedules.list()).map(({ id }) => id)).toEqual(['nightly']);
  to.close();
  client.disconnect();
}, 120_000);
