// A live queue moves to another Redis while its mover is killed 35 times, and then back. Another one moves to a Cluster and back.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { DEATHS } from '../../support/migrate/deaths.js';
import { LiveQueue } from '../../support/migrate/live-queue.js';
import type { QueueMoverSettings } from '../../support/migrate/queue-mover-process.js';
import { idsIn, queueScene } from '../../support/migrate/queue-scene.js';
import { startCluster } from '../../support/redis/own-cluster.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { newQueue } from '../../support/worker/workers.js';

const ROOT = join(import.meta.dirname, '../../..');
const JOBS = Number(process.env.LIVE_JOBS ?? 20_000);
/** The jobs that are added where a mover found too few to die. */
const MORE = 300;
const KILLS = 35;

/** Runs a mover to its end. Returns whether it killed itself; false if nothing was left. */
function runMover(settings: QueueMoverSettings): Promise<boolean> {
  const file = join(ROOT, 'test/support/migrate/queue-mover-process.ts');
  const child = spawn(process.execPath, ['--import', './tools/chaos/register.mjs', file], {
    cwd: ROOT,
    env: { ...process.env, MOVER_SETTINGS: JSON.stringify(settings) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (data: Buffer) => (said += data.toString()));
  return new Promise((resolve, reject) => {
    child.once('close', (code, signal) => {
      if (said.includes('quiet') || signal === 'SIGKILL') resolve(!said.includes('quiet'));
      else reject(new Error(`The mover ended with ${code ?? signal}, and said: ${said}`));
    });
  });
}

/** Kills movers one after another, each after the next step, and runs one more to its end. */
async function killMovers(settings: QueueMoverSettings, more: () => Promise<unknown>): Promise<number> {
  let deaths = 0;
  while (deaths < KILLS) {
    const dies = { after: DEATHS[deaths % DEATHS.length]!, passes: Math.floor(deaths / DEATHS.length) % 2 };
    if (await runMover({ ...settings, dies })) deaths++;
    else await more();
  }
  await runMover({ ...settings, quietMs: 2_000 });
  return deaths;
}

it('moves a live queue to another Redis and back: 0 missing, 0 twice', async () => {
  const [first, second] = [await startOwnRedis(), await startOwnRedis()];
  const name = uniqueQueueName('live');
  const from = newQueue({}, connect({}, first.url), name);
  const to = newQueue({}, connect({}, second.url), name);
  const live = new LiveQueue();
  await live.work(from, 'there', 2);
  const produced = live.add(from, JOBS);
  const worked = live.work(to, 'here', 2);
  const settings = { from: first.url, to: second.url, queue: name, quietMs: 500 };
  const kills = await killMovers(settings, () => produced.then(() => live.add(from, live.count + MORE)));
  await produced;
  await worked;
  await live.expectEach({ from, to }, 300_000);
  console.log({ kills, jobs: live.count, here: live.ranAt('here'), there: live.ranAt('there') }); // the figures of this run
  expect(kills).toBe(KILLS);
  expect(live.ranAt('here')).toBeGreaterThan(JOBS / 10);
  await to.pause();
  await live.add(to, live.count + 1_000);
  const back = { from: second.url, to: first.url, queue: name, quietMs: 500 };
  for (const after of DEATHS) await runMover({ ...back, dies: { after, passes: 1 } });
  await runMover({ ...back, quietMs: 2_000 });
  await from.resume();
  await live.expectEach({ from: to, to: from }, 300_000);
}, 1_800_000);

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
