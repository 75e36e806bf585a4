// The mover beside a producer and a worker of the real bee-queue. It is killed after each of its steps, several times.
import { expect, it } from '@jest/globals';
import { BeeSource } from '#migrate/bee-source.js';
import { JobQueue } from '#queue/job-queue.js';
import { beeFleet } from '../../support/bullmq/old-fleet.js';
import { killMovers } from '../../support/bullmq/run-mover.js';
import { eventually, sleep } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';

const JOBS = Number(process.env.LIVE_JOBS ?? 5_000);
const CHUNK = 200;
/** The jobs that are added where a mover found too few to die. */
const MORE = 1_000;
const KILLS = 35;
/** The time of a job there, in ms: so slow that most jobs are moved. */
const WORK_MS = 20;

/** Returns whether an attempt fails: the first of every tenth job, there or here. Every seventh job is delayed. */
const failsAt = (i: number, attempt: number) => i % 10 === 0 && attempt === 1;
const optionsOf = (i: number) => ({
  id: `j${i}`,
  retries: 2,
  ...(i % 20 === 0 && { backoffMs: 20 }),
  ...(i % 7 === 0 && { delayMs: 500 + (i % 5) * 100 }),
});

it('moves a live queue of bee-queue: 0 missing, 0 twice, in order', async () => {
  const { url } = await startOwnRedis();
  const redis = connect({}, url);
  const name = uniqueQueueName('bee');
  const old = await beeFleet(name, url);
  const source = new BeeSource(redis, 'bq', name);
  const runs = new Map<string, string[]>();
  const order: number[] = [];
  const done = (id: string, where: string) => runs.set(id, [...(runs.get(id) ?? []), where]);
  const run = (where: string, { id, attempt }: { id: string; attempt: number }) => {
    const i = Number(id.slice(1));
    if (failsAt(i, attempt) && !failed.has(i)) {
      failed.add(i);
      throw new Error('as planned');
    }
    if (where === 'here' && i % 10 !== 0 && i % 7 !== 0) order.push(i);
    done(id, where);
  };
  // A job that has failed there counts its attempts here from one.
  const failed = new Set<number>();
  old.work(3, async (job) => {
    await sleep(WORK_MS);
    run('there', job);
  });
  let count = 0;
  const addUntil = async (end: number) => {
    while (count < end) {
      const chunk = Array.from({ length: Math.min(CHUNK, end - count) }, (_, k) => count + k);
      count += chunk.length;
      await Promise.all(chunk.map((n) => old.add('', { n }, optionsOf(n))));
    }
  };
  const added = addUntil(JOBS);
  const queue = new JobQueue(redis, name);
  const worker = await startWorker([{ queue, concurrency: 1, handlers: { [name]: (job) => run('here', job) } }]);
  const settings = { redis: url, queue: name, isBull: true, isBee: true, quietMs: 2_000 };
  const kills = await killMovers(settings, KILLS, () => added.then(() => addUntil(count + MORE)));
  await eventually(async () => runs.size === count, { timeoutMs: 120_000, what: 'all jobs ran' });
  await worker.worker.stop();
  const counts = await source.counts();
  await old.close();
  const here = [...runs.values()].filter((where) => where.includes('here')).length;
  console.log({ kills, here, there: runs.size - here }); // the figures of this run
  expect([...runs].filter(([, where]) => where.length !== 1)).toEqual([]);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(Object.values(kills)).toEqual(Array(5).fill(KILLS / 5));
  expect(here).toBeGreaterThan(JOBS / 10);
  expect(counts).toMatchObject({ wait: 0, active: 0, delayed: 0, failed: 0, transit: 0 });
}, 600_000);
