// The mover beside producers and a worker of the real BullMQ 6.7, BullMQ 5.81 and Bull 4.16. It is killed after any of its steps.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { Source } from '#migrate/bullmq-source.js';
import { bullFleet, bullmq5Fleet, bullmqFleet, type OldFleet } from '../../support/bullmq/old-fleet.js';
import { killMovers } from '../../support/bullmq/run-mover.js';
import { eventually, sleep } from '../../support/faults/wait.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { startWorker } from '../../support/worker/workers.js';

const JOBS = Number(process.env.LIVE_JOBS ?? 20_000);
const CHUNK = 200;
/** The jobs that are added where a mover found too few to die. */
const MORE = 1_000;
const KILLS = 35;
/** The time of a job there, in ms: so slow that most jobs are moved. */
const WORK_MS = 20;

/** Returns whether a job fails for good, there or here. Then it ends as a dead letter here. */
const failsForGood = (i: number) => i % 50 === 1;

/** Returns the options of a job. Every tenth fails once, every seventh is delayed, every ninth has a priority. */
const optionsOf = (i: number) => ({
  jobId: `j${i}`,
  attempts: failsForGood(i) ? 1 : 3,
  removeOnComplete: true,
  ...(i % 10 === 0 && { backoff: { type: 'fixed', delay: 20 } }),
  ...(i % 7 === 0 && { delay: 500 + (i % 5) * 100 }),
  ...(i % 9 === 0 && { priority: 1 + (i % 3) }),
});
const isPlain = (i: number) => !failsForGood(i) && i % 10 !== 0 && i % 7 !== 0 && i % 9 !== 0;

const failsAt = (id: string, attempt: number) => {
  const i = Number(id.slice(1));
  return failsForGood(i) || (i % 10 === 0 && attempt === 1);
};

it.each([
  ['BullMQ', bullmqFleet],
  ['BullMQ 5', bullmq5Fleet],
  ['Bull', bullFleet],
] as const)(
  'moves a live queue of %s: 0 missing, 0 twice, in order',
  async (library, fleetOf) => {
    const { url } = await startOwnRedis();
    const redis = connect({}, url);
    const name = uniqueQueueName('live');
    const old: OldFleet = await fleetOf(name, url);
    const runs = new Map<string, string[]>();
    const order: number[] = [];
    const done = (id: string, where: string) => runs.set(id, [...(runs.get(id) ?? []), where]);

    old.work(3, async ({ id, attempt }) => {
      await sleep(WORK_MS);
      if (failsAt(id, attempt)) throw new Error('as planned');
      done(id, 'there');
    });
    let count = 0;
    const addUntil = async (end: number) => {
      while (count < end) {
        const chunk = Array.from({ length: Math.min(CHUNK, end - count) }, (_, k) => count + k);
        count += chunk.length;
        await Promise.all(chunk.map((n) => old.add('work', { n }, optionsOf(n))));
      }
    };
    const produced = addUntil(JOBS);
    const queue = new JobQueue(redis, name);
    const run = (job: { id: string; attempt: number }) => {
      const i = Number(job.id.slice(1));
      if (failsAt(job.id, job.attempt)) throw new Error('as planned');
      if (isPlain(i)) order.push(i);
      done(job.id, 'here');
    };
    const worker = await startWorker([{ queue, concurrency: 1, handlers: { work: run } }]);

    const settings = { redis: url, queue: name, isBull: library === 'Bull', quietMs: 2_000 };
    const kills = await killMovers(settings, KILLS, () => produced.then(() => addUntil(count + MORE)));
    const failing = Array.from({ length: count }, (_, i) => i).filter(failsForGood).map((i) => `j${i}`); // prettier-ignore
    await eventually(async () => runs.size === count - failing.length, { timeoutMs: 120_000 });
    await eventually(async () => (await queue.stats()).failed === failing.length);
    await worker.worker.stop();
    await old.close();
    const counts = await new Source(redis, 'bull', name).counts();
    const here = [...runs.values()].filter((where) => where.includes('here')).length;
    console.log(library, { kills, here, there: runs.size - here }); // the figures of this run
    expect([...runs].filter(([, where]) => where.length !== 1)).toEqual([]);
    expect(runs.size).toBe(count - failing.length);
    const dead = await queue.list('failed', { limit: 1_000 });
    expect(dead.map(({ id }) => id).toSorted()).toEqual(failing.toSorted());
    expect(new Set(dead.map(({ lastError }) => lastError))).toEqual(new Set(['as planned']));
    expect(
      dead.every(
        ({ attempts, attemptLog }) => attempts === 1 && attemptLog[0]!.error?.stack?.includes('as planned'),
      ),
    ).toBe(true);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(Object.values(kills)).toEqual(Array(5).fill(KILLS / 5));
    expect(here).toBeGreaterThan(JOBS / 10);
    expect(counts).toMatchObject({ wait: 0, active: 0, delayed: 0, prioritized: 0, transit: 0, failed: 0 });
  },
  1_200_000,
);
