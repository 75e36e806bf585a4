// Upgrades from each packed earlier version. Its data is finished here, and ours there. Workers of both run side by side. With
// RECORD_RUNS=1 it writes the table of docs/versions.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { Worker } from '#worker/worker.js';
import { fillUpgrades, type Upgrade } from '../../support/docs/upgrades-table.js';
import { eventually } from '../../support/faults/wait.js';
import { earlierPackages } from '../../support/queue/earlier-version.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';

interface Library {
  JobQueue: typeof JobQueue;
  Worker: typeof Worker;
}

const NOW: Library = { JobQueue, Worker };
const PAGE = 'docs/versions.md';
const FIGURES = 'docs/internals/figures/upgrades.json';
const passed: Upgrade[] = [];

afterAll(() => {
  if (process.env.RECORD_RUNS === '1' && passed.length > 0) {
    writeFileSync(FIGURES, `${JSON.stringify(passed, null, 2)}\n`);
    writeFileSync(PAGE, fillUpgrades(readFileSync(PAGE, 'utf8'), passed));
  }
});

/** Opens a queue of a version, whose connections end with the test. */
async function opened({ JobQueue: Queue }: Library, url: string, name: string): Promise<JobQueue> {
  return new Queue(connect({}, url), name, { visibilityMs: 1_000, backoff: 0 });
}

/** The jobs that run in the end, by what they exercise. */
const EXPECTED = ['after', 'delayed', 'follow-up', 'grouped-1', 'grouped-2', 'lost', 'member', 'plain', 'retried', 'tick', 'unique', 'urgent']; // prettier-ignore

/** Writes jobs of all kinds by one version. */
async function seed(queue: JobQueue): Promise<void> {
  await queue.enqueue({}, { id: 'lost' });
  await queue.claim(); // its process dies here
  await queue.enqueue({}, { id: 'retried', maxAttempts: 3 });
  await queue.fail((await queue.claim())!, new Error('once'));
  await queue.enqueue({}, { id: 'dead', maxAttempts: 1 });
  const claimed = await queue.claimMany(2);
  for (const job of claimed) {
    if (job.id === 'dead') await queue.fail(job, new TypeError('for good'));
    else await queue.release(job);
  }
  await queue.enqueue({}, { id: 'plain' });
  await queue.enqueue({}, { id: 'urgent', priority: 5 });
  await queue.enqueue({}, { id: 'delayed', delayMs: 300 });
  await queue.enqueue({}, { id: 'unique', unique: { key: 'k', for: 'unfinished' } });
  for (const id of ['grouped-1', 'grouped-2']) await queue.enqueue({}, { id, group: 'g' });
  await queue.enqueue({}, { id: 'after', after: ['delayed'] });
  const batch = queue.batch({ then: { name: queue.name, payload: 'follow-up' } });
  await batch.add(queue.name, {}, { id: 'member' });
  await batch.seal();
  await queue.schedules.upsert('every', { everyMs: 500, limit: 1 }, { payload: 'tick' });
}

/** Starts a worker of a version, which notes what ran. */
async function work({ Worker: Workers }: Library, queue: JobQueue, ran: string[]): Promise<Worker> {
  const run = ({ id, payload }: { id: string; payload: unknown }) => {
    ran.push(typeof payload === 'string' ? payload : id);
  };
  const worker = new Workers([{ queue, concurrency: 2, handlers: { [queue.name]: run } }], {
    sweepIntervalMs: 200,
  });
  await worker.start();
  return worker;
}

async function expectFinished(queue: JobQueue, ran: string[]): Promise<void> {
  await eventually(async () => ran.length >= EXPECTED.length, { timeoutMs: 30_000 });
  await eventually(async () => {
    const { pending, processing, scheduled } = await queue.stats();
    return pending + processing + scheduled === 0;
  });
  expect(ran.toSorted()).toEqual(EXPECTED);
  expect(await queue.deadLetters.get('dead')).toMatchObject({ lastError: 'for good' });
  expect((await queue.doctor()).findings).toEqual([]);
}

describe.each(earlierPackages())('from $version at commit $commit', ({ version, commit, url }) => {
  const earlier = () => import(`${url}core.js`) as Promise<Library>;

  it('its data is finished here, ours there, and both run side by side', async () => {
    const then = await earlier();
    const { url: redis } = await startOwnRedis();
    for (const [seeding, working] of [
      [then, [NOW]],
      [NOW, [then]],
      [then, [NOW, then]],
      [NOW, [then, NOW]],
    ] as const) {
      const name = uniqueQueueName('upgrade');
      const producer = await opened(seeding, redis, name);
      await seed(producer);
      const ran: string[] = [];
      const workers = [];
      for (const library of working) workers.push(await work(library, await opened(library, redis, name), ran));
      await expectFinished(await opened(NOW, redis, name), ran);
      await Promise.all(workers.map((worker) => worker.stop()));
    }
    passed.push({ version, commit, date: new Date().toISOString().slice(0, 10) });
  }, 120_000);
});
