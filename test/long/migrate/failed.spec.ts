// Failed jobs of the real BullMQ and Bull are moved as dead letters. Meanwhile more jobs fail there, and the mover is killed.
// They are redriven here at once and forgotten, so a job that is moved twice runs twice.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { Source } from '#migrate/bullmq/source.js';
import { bullFleet, bullmq5Fleet, bullmqFleet } from '../../support/bullmq/old-fleet.js';
import { runMover } from '../../support/bullmq/run-mover.js';
import { eventually } from '../../support/faults/wait.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';

/** The jobs that have failed before the mover begins, and those that are added later. */
const FAILED = Number(process.env.FAILED_JOBS ?? 5_000);
const LATER = FAILED / 10;
const CHUNK = 500;
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
    const add = async (from: number, count: number) => {
      for (let i = from; i < from + count; i += CHUNK) {
        const chunk = Array.from({ length: Math.min(CHUNK, from + count - i) }, (_, k) => i + k);
        await Promise.all(chunk.map((n) => old.add('work', { n }, { jobId: `j${n}`, attempts: 1 })));
      }
    };
    old.work(50, () => Promise.reject(new Error('as planned')));
    await add(0, FAILED);
    await eventually(async () => (await source.counts()).failed === FAILED, { timeoutMs: 300_000, everyMs: 100 });

    const runs = new Map<string, number>();
    const queue = new JobQueue(redis, name, { completedHistory: 1, resultTtlMs: 1 });
    const run = ({ id }: { id: string }) => void runs.set(id, (runs.get(id) ?? 0) + 1);
    const worker = await startWorker([{ queue, concurrency: 20, handlers: { work: run } }]);
    let [isAdded, redriven, died] = [false, 0, 0];
    const added = add(FAILED, LATER).then(() => (isAdded = true));
    const kills: Record<string, number> = {};
    const settings = { redis: url, queue: name, deadly: 0.15, isBull: library === 'Bull', quietMs: 1_000 };
    const moved = (async () => {
      for (;;) {
        const step = await runMover(died < KILLS ? settings : { ...settings, deadly: 0 });
        if (step === undefined && isAdded) break;
        if (step !== undefined) {
          died++;
          kills[step] = (kills[step] ?? 0) + 1;
        }
      }
    })();
    const ended = new AbortController();
    const redrive = (async () => {
      for (let isOver = false; !isOver;) {
        isOver = ended.signal.aborted;
        redriven += await queue.deadLetters.redriveAll();
      }
    })();
    await Promise.all([added, moved]).finally(() => ended.abort());
    await redrive;
    await eventually(async () => runs.size === FAILED + LATER, { timeoutMs: 120_000, what: 'all jobs run here' });
    await worker.worker.stop();
    const counts = await source.counts();
    await old.close();
    console.log(library, { kills, redriven, ran: runs.size }); // the figures of this run
    expect([...runs].filter(([, count]) => count !== 1)).toEqual([]);
    expect(redriven).toBeGreaterThanOrEqual(FAILED);
    expect(died).toBeGreaterThan(0);
    expect(counts).toMatchObject({ wait: 0, active: 0, delayed: 0, failed: 0, transit: 0 });
  },
  1_200_000,
);
