// A queue of ours moves to the real BullMQ 6.7, and back again.
import { describe, expect, it } from '@jest/globals';
import { BullmqTarget, type BullmqQueue } from '#migrate/to-bullmq/bullmq-target.js';
import { Source } from '#migrate/bullmq/source.js';
import { OldPlace } from '#migrate/queue/old-place.js';
import { QueueMover } from '#migrate/queue/queue-mover.js';
import type { QueueMoveStep } from '#migrate/queue/transit.js';
import { systemClock } from '#queue/runtime/clock.js';
import { bullmqFleet, loadBullmqOfTests } from '../../support/bullmq/old-fleet.js';
import { moveScene } from '../../support/bullmq/move-scene.js';
import { lastStep, runToDeath } from '../../support/migrate/deaths.js';
import { emptyReport } from '../../support/migrate/empty-report.js';
import { idsIn, keysOfMove } from '../../support/migrate/queue-scene.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { newQueue } from '../../support/worker/workers.js';

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

  it('loses nothing and doubles nothing while the mover dies 35 times, and BullMQ runs', async () => {
    const { url, from, mover } = await scene();
    const fleet = bullmqFleet(from.name, url);
    const ran: string[] = [];
    fleet.work(4, async ({ id }) => void ran.push(id));
    let count = 0;
    const add = async (jobs: number) => {
      const chunk = Array.from({ length: jobs }, () => ({ payload: 1, id: `j${count++}`, name: 'work' }));
      await from.enqueueMany(chunk.map((job, i) => (i % 7 === 0 ? { ...job, delayMs: 50 } : job)));
    };
    await add(1_000);
    for (let deaths = 0; deaths < 35;) {
      if (await runToDeath(mover, lastStep(deaths))) deaths++;
      await add(100);
    }
    await (await mover()).run();
    await eventually(async () => ran.length >= count, { timeoutMs: 60_000 });
    await fleet.close();
    expect(ran.toSorted()).toEqual(Array.from({ length: count }, (_, i) => `j${i}`).toSorted());
    expect(await keysOfMove(from)).toEqual([]);
  }, 120_000);
});
