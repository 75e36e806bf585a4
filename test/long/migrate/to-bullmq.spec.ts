// A queue of ours moves to the real BullMQ 6.7, and back again.
import { describe, expect, it } from '@jest/globals';
import { BullmqTarget, type BullmqQueue } from '#migrate/to-bullmq.js';
import { Source } from '#migrate/bullmq-source.js';
import { OldPlace } from '#migrate/queue/places.js';
import { QueueMover } from '#migrate/queue/queue-mover.js';
import type { QueueMoveStep } from '#migrate/queue/transit.js';
import { systemClock } from '#queue/runtime/clock.js';
import { bullmqFleet, loadBullmqOfTests } from '../../support/bullmq/old-fleet.js';
import { moveScene } from '../../support/bullmq/move-scene.js';
import { killMovers } from '../../support/bullmq/run-mover.js';
import { emptyReport } from '../../support/migrate/empty-report.js';
import { LiveQueue } from '../../support/migrate/live-queue.js';
import { idsIn, keysOfMove } from '../../support/migrate/queue-scene.js';
import { killQueueMovers } from '../../support/migrate/run-queue-mover.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually, sleep } from '../../support/faults/wait.js';
import { newQueue } from '../../support/worker/workers.js';

const JOBS = Number(process.env.LIVE_JOBS ?? 20_000);
/** The jobs that are added where a mover found too few to die. */
const MORE = 1_000;
const KILLS = 35;
const WORK_MS = 40;

/** Returns movers of a queue to BullMQ. */
async function scene(dropGroups = false) {
  const report = emptyReport();
  const { url } = await startOwnRedis();
  const client = connect({}, url);
  const from = newQueue({}, client);
  const { Queue } = loadBullmqOfTests() as { Queue: new (name: string, options: object) => BullmqQueue };
  const target = (hasPriorities: boolean) =>
    new BullmqTarget({
      client,
      prefix: 'bull',
      name: from.name,
      rules: { hasPriorities, maxAttempts: 10, handlerLimits: {}, dropGroups, nowMs: Date.now() },
      dropped: report.dropped,
      open: () => Promise.resolve(new Queue(from.name, { connection: { port: Number(new URL(url).port) } })),
    });
  const mover = async (onStep?: (step: QueueMoveStep) => void, hasPriorities = false) => {
    const to = target(hasPriorities);
    const made = new QueueMover({
      old: await OldPlace.of(from, 'BullMQ'),
      target: to,
      clock: systemClock,
      report,
      by: 'test',
      onStep,
    });
    return { run: () => made.run().finally(() => void to.close()) };
  };
  return { url, from, report, mover, client, there: new Source(client, 'bull', from.name) };
}

describe('to BullMQ', () => {
  it('goes what waits, is delayed, urgent, failed and recurring, and BullMQ runs it', async () => {
    const { url, from, mover, there, report } = await scene();
    await from.enqueue({ n: 1 }, { id: 'plain', name: 'work', maxAttempts: 3 });
    await from.enqueue(1, { id: '7', name: 'work', priority: 9 });
    await from.enqueue(1, { id: 'a:b', name: 'work', delayMs: 4_000 });
    await from.enqueue(1, { id: 'dead', name: 'work', maxAttempts: 1, lifo: true });
    await from.enqueue(1, { id: 'grouped', name: 'work', group: 'g' });
    await from.schedules.upsert(
      'nightly',
      { cron: '0 3 * * *', timeZone: 'UTC' },
      { name: 'work', payload: { x: 1 } },
    );
    const dead = await from.claimMany(4);
    for (const job of dead) {
      if (job.id === 'dead') await from.fail(job, new TypeError('no file'));
      else await from.release(job);
    }
    await (await mover(undefined, true)).run();
    expect(report.left.map(({ ids }) => ids)).toEqual([['grouped']]);
    expect(await there.counts()).toMatchObject({ prioritized: 2, delayed: 2, failed: 1, repeat: 1 });
    expect(report.schedules).toEqual(['nightly']);
    const fleet = bullmqFleet(from.name, url);
    const ran: string[] = [];
    fleet.work(1, async ({ id }) => void ran.push(id));
    await eventually(async () => ran.length === 3, { timeoutMs: 20_000 });
    await fleet.close();
    expect(ran.indexOf('njq-7')).toBeLessThan(ran.indexOf('plain'));
    expect(ran.toSorted()).toEqual(['a-b', 'njq-7', 'plain']);
    expect(await keysOfMove(from)).toEqual([]);
  }, 180_000); // the first test may have to install BullMQ

  it('and back again keeps the jobs', async () => {
    const { from, mover, there, client } = await scene();
    for (const id of ['a', 'b', 'c']) await from.enqueue({ id }, { id, name: 'work', maxAttempts: 4 });
    await (await mover()).run();
    const home = newQueue({}, client);
    const back = moveScene({ source: there } as never, { era: 'bullmq6', queue: home });
    await back.mover().run();
    expect(await idsIn(home)).toEqual(['a', 'b', 'c']);
    expect(await home.get('a')).toMatchObject({ name: 'work', payload: { id: 'a' }, maxAttempts: 4 });
  });

  it('moves a live queue and back while movers are killed: 0 missing, 0 twice', async () => {
    const { url } = await startOwnRedis();
    const redis = connect({}, url);
    const queue = newQueue({}, redis, uniqueQueueName('exit'));
    const there = new Source(redis, 'bull', queue.name);
    const live = new LiveQueue('plain');
    await live.work(queue, 'here', 2);
    const fleet = bullmqFleet(queue.name, url);
    let workMs = 0;
    fleet.work(4, async (job) => {
      if (workMs > 0) await sleep(workMs);
      live.run(job, 'bullmq');
    });
    const produced = live.add(queue, JOBS);
    await eventually(async () => live.runs.size > JOBS / 40);
    const out = { from: url, to: url, queue: queue.name, quietMs: 500, isBullmq: true };
    const kills = await killQueueMovers(out, KILLS, () => produced.then(() => live.add(queue, live.count + MORE)));
    await produced;
    await live.expectEach({ from: queue, to: queue }, 600_000);
    await eventually(async () => (await there.counts()).failed === live.failing.length);
    const [jobs, bullmq] = [live.count, live.ranAt('bullmq')];

    workMs = WORK_MS; // so slow that most jobs are moved back
    const back = { redis: url, queue: queue.name, isBull: false, quietMs: 1_000 };
    const added = live.addBy(
      (id, options) => fleet.add('work', {}, { jobId: id, ...options }),
      live.count + JOBS / 4,
    );
    const killsBack = await killMovers(back, KILLS, () =>
      added.then(() =>
        live.addBy((id, options) => fleet.add('work', {}, { jobId: id, ...options }), live.count + MORE),
      ),
    );
    await added;
    await live.expectEach({ from: queue, to: queue }, 600_000);
    await eventually(async () => (await queue.stats()).failed === live.failing.length);
    await fleet.close();
    expect(await there.counts()).toMatchObject({ wait: 0, active: 0, delayed: 0, prioritized: 0, failed: 0 });
    console.log({
      jobs,
      bullmq,
      kills,
      backJobs: live.count - jobs,
      backHere: live.ranAt('here') - (jobs - bullmq),
      killsBack,
    }); // the figures of this run
    expect([kills, Object.values(killsBack)]).toEqual([KILLS, Array(5).fill(KILLS / 5)]);
    expect(bullmq).toBeGreaterThan(JOBS / 10);
  }, 1_800_000);
});
