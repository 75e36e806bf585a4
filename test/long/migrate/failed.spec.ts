// Failed jobs of the real BullMQ and Bull are moved as dead letters. Meanwhile more jobs fail there, and the mover is killed.
// They are redriven here at once and forgotten, so a job that is moved twice runs twice.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { Source } from '#migrate/bullmq-source.js';
import { bullFleet, bullmq5Fleet, bullmqFleet } from '../../support/bullmq/old-fleet.js';
import { killMovers } from '../../support/bullmq/run-mover.js';
import { eventually } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';

/** The jobs that have failed before the mover begins, and those that are added later. */
const FAILED = Number(process.env.FAILED_JOBS ?? 5_000);
const LATER = FAILED / 10;
const CHUNK = 500;
/** The jobs that are added where a mover found too few to die. */
const MORE = 1_000;
const KILLS = 35;

it.each([
  ['BullMQ', bullmqFleet],
  ['BullMQ 5', bullmq5Fleet],
  ['Bull', bullFleet],
] as const)(
  'moves the failed jobs of %s: 0 missing, 0 twice',
  async (library, fleetOf) => {
    const { url } = await startOwnRedis();
    const redis = connect({}, url);
    const name = uniqueQueueName('failed');
    const old = await fleetOf(name, url);
    const source = new Source(redis, 'bull', name);
    let made = 0;
    const addUntil = async (end: number) => {
      while (made < end) {
        const chunk = Array.from({ length: Math.min(CHUNK, end - made) }, (_, k) => made + k);
        made += chunk.length;
        await Promise.all(chunk.map((n) => old.add('work', { n }, { jobId: `j${n}`, attempts: 1 })));
      }
    };
    old.work(50, () => Promise.reject(new Error('as planned')));
    await addUntil(FAILED);
    await eventually(async () => (await source.counts()).failed === FAILED, { timeoutMs: 300_000, everyMs: 100 });

    const runs = new Map<string, number>();
    const queue = new JobQueue(redis, name, { completedHistory: 1, resultTtlMs: 1 });
    const run = ({ id }: { id: string }) => void runs.set(id, (runs.get(id) ?? 0) + 1);
    const worker = await startWorker([{ queue, concurrency: 20, handlers: { work: run } }]);
    let redriven = 0;
    const added = addUntil(FAILED + LATER);
    const settings = { redis: url, queue: name, isBull: library === 'Bull', quietMs: 1_000 };
    const moved = killMovers(settings, KILLS, () => added.then(() => addUntil(made + MORE)));
    const ended = new AbortController();
    const redrive = (async () => {
      for (let isOver = false; !isOver;) {
        isOver = ended.signal.aborted;
        redriven += await queue.deadLetters.redriveAll();
      }
    })();
    const kills = await moved.finally(() => ended.abort());
    await redrive;
    await eventually(async () => runs.size === made, { timeoutMs: 120_000, what: 'all jobs run here' });
    await worker.worker.stop();
    const counts = await source.counts();
    await old.close();
    console.log(library, { kills, redriven, ran: runs.size }); // the figures of this run
    expect([...runs].filter(([, count]) => count !== 1)).toEqual([]);
    expect(redriven).toBeGreaterThanOrEqual(FAILED);
    expect(Object.values(kills)).toEqual(Array(5).fill(KILLS / 5));
    expect(counts).toMatchObject({ wait: 0, active: 0, delayed: 0, failed: 0, transit: 0 });
  },
  1_200_000,
);
