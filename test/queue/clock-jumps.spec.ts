// The server's clock was ahead for a moment, or is set back by hours. No instant that the clock of now cannot have made
// stops anything, on Redis and in memory. See docs/internals/clocks.md.
import { expect, it } from '@jest/globals';
import type { JobQueueOptions } from '#queue/enqueue/enqueue-middleware.js';
import { loseHash, newClockedQueue, onEachStore } from '../support/worker/workers.js';

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const START = Date.parse('2026-06-01T12:00:00Z');

type World = ReturnType<typeof newClockedQueue>;

function make(options: JobQueueOptions = {}): World {
  const world = newClockedQueue(options);
  world.clock.nowMs = START;
  return world;
}

/** Runs an action while the clock is off. */
async function whileOff<Result>({ clock }: World, ms: number, action: () => Promise<Result>): Promise<Result> {
  clock.nowMs += ms;
  const result = await action();
  clock.nowMs -= ms;
  return result;
}

/** Lets the time pass in steps. Returns how many ticks made a job. */
async function ticksWithin({ clock, queue }: World, ms: number, stepMs: number): Promise<number> {
  let ticks = 0;
  for (const end = clock.nowMs + ms; clock.nowMs < end;) {
    clock.nowMs += stepMs;
    ticks += (await queue.schedules.tick()).enqueued;
  }
  return ticks;
}

const sweep = ({ queue }: World, waitMs = 10 * SECOND) =>
  queue.exec((calls) => calls.sweep.reclaim({ limit: 100, gapMs: 15 * SECOND, waitMs }));

onEachStore('where the clock was two hours ahead', () => {
  it('a schedule ticks again within a period, and no tick is lost later', async () => {
    const world = make();
    await world.queue.schedules.upsert('s', { everyMs: MINUTE });
    expect(await ticksWithin(world, 3 * MINUTE, MINUTE)).toBe(3);
    await whileOff(world, 2 * HOUR, () => ticksWithin(world, 5 * MINUTE, MINUTE));
    world.clock.nowMs -= 5 * MINUTE;
    expect(await ticksWithin(world, 5 * MINUTE, MINUTE)).toBeGreaterThanOrEqual(4);
    expect(await ticksWithin(world, 2.2 * HOUR, MINUTE)).toBe(132);
  });

  it('a schedule whose rule is later stays as it is', async () => {
    const world = make();
    await world.queue.schedules.upsert('s', { cron: '0 0 1 1 *' });
    await ticksWithin(world, 5 * MINUTE, MINUTE);
    expect((await world.queue.schedules.get('s'))?.nextAt).toEqual(new Date('2027-01-01T00:00:00Z'));
  });

  it('a rate opens within its burst, and one of a group too', async () => {
    const world = make();
    const { queue, clock } = world;
    const rateLimit = { limit: 10, periodMs: SECOND, burst: 2 };
    await queue.limits.set({ rateLimit, groups: { rateLimit } });
    await queue.enqueueMany([{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
    await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload, group: 'g' })));
    await whileOff(world, 2 * HOUR, () => queue.claimMany(2));
    clock.nowMs += 200;
    expect(await queue.claimMany(10)).toHaveLength(0);
    const claimed: unknown[] = [];
    for (let i = 0; i < 20; i++) {
      clock.nowMs += 100;
      await queue.exec((calls) => calls.sweep.tidy({ limit: 100 }));
      claimed.push(...(await queue.claimMany(10)));
    }
    expect(claimed).toHaveLength(4);
  });

  it('a claim of a dead worker is reclaimed after a heartbeat, and a live one is extended', async () => {
    const world = make();
    const { queue, clock } = world;
    await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    await sweep(world);
    const [dead, live] = await whileOff(world, 2 * HOUR, async () => {
      await sweep(world);
      return queue.claimMany(2);
    });
    for (let i = 0; i < 8; i++) {
      clock.nowMs += 5 * SECOND;
      await queue.extend(live!);
      await sweep(world);
    }
    expect((await queue.get(dead!.id))?.status).toBe('pending');
    expect((await queue.get(live!.id))?.status).toBe('processing');
  });

  it('a claim with a longer timeout than usual stays', async () => {
    const world = make({ visibilityMs: 10 * MINUTE });
    const { queue } = world;
    const first = await queue.enqueue(1);
    await queue.claim();
    const second = await queue.enqueue(2);
    const extended = (await queue.claim())!;
    await queue.extend(extended, { visibilityMs: HOUR });
    await sweep(world, 0);
    expect((await queue.get(first.id))?.status).toBe('processing');
    world.clock.nowMs += 50 * MINUTE;
    await sweep(world, 0);
    world.clock.nowMs += 3 * SECOND;
    await sweep(world, 0);
    expect((await queue.get(second.id))?.status).toBe('processing');
    expect((await queue.get(first.id))?.status).toBe('pending');
  });

  it('the wait after an outage ends', async () => {
    const world = make();
    const { queue, clock } = world;
    await queue.enqueue(1);
    await sweep(world);
    await whileOff(world, 2 * HOUR, () => sweep(world));
    const job = (await queue.claim())!;
    clock.nowMs += MINUTE;
    await sweep(world); // the gap
    clock.nowMs += 13 * SECOND; // a heartbeat, and the time to connect again
    await sweep(world);
    expect((await queue.get(job.id))?.status).toBe('pending');
  });

  it('the wait after an outage ends also if each sweeping process dies before', async () => {
    const world = make();
    const { queue, clock } = world;
    await queue.enqueue(1);
    await sweep(world);
    const job = (await queue.claim())!;
    for (let process = 0; process < 3; process++) {
      clock.nowMs += MINUTE;
      await sweep(world);
      clock.nowMs += SECOND;
      await sweep(world);
      expect((await queue.get(job.id))?.status).toBe('processing');
    }
    clock.nowMs += MINUTE;
    await sweep(world);
    expect((await queue.get(job.id))?.status).toBe('pending');
  });

  it('a rest of the queue and of a group ends after its length', async () => {
    const world = make();
    const { queue, clock } = world;
    await queue.enqueueMany([{ payload: 1 }, { payload: 2, group: 'g' }]);
    await whileOff(world, 2 * HOUR, async () => {
      const jobs = await queue.claimMany(2);
      const rests = jobs.map((job) => ({ ...job, reason: 'rate_limited' as const, delayMs: 5 * SECOND }));
      await queue.exec((calls) => calls.release(rests));
    });
    expect(await queue.claimMany(2)).toHaveLength(0);
    clock.nowMs += 6 * SECOND;
    await queue.exec((calls) => calls.sweep.tidy({ limit: 100 }));
    clock.nowMs += 6 * SECOND;
    expect(await queue.claimMany(2)).toHaveLength(2);
  });

  it('a unique window ends after its length', async () => {
    const world = make();
    const { queue } = world;
    const unique = { key: 'k', for: { ms: MINUTE } };
    await whileOff(world, 2 * HOUR, () => queue.enqueue(1, { unique }));
    expect((await queue.enqueue(2, { unique })).outcome).toBe('new');
    expect((await queue.enqueue(3, { unique })).outcome).toBe('kept');
  });

  it('a unique window ends after its length, also after the hash of its owner', async () => {
    const world = make();
    const { queue } = world;
    const unique = { key: 'k', for: { ms: MINUTE } };
    await whileOff(world, 2 * HOUR, async () => {
      await queue.enqueue(1, { unique });
      const job = (await queue.claim())!;
      await queue.complete(job);
      await loseHash(queue, job.id);
    });
    expect((await queue.enqueue(2, { unique: { key: 'k', for: { ms: SECOND } } })).outcome).toBe('new');
    expect((await queue.enqueue(3, { unique })).outcome).toBe('kept');
  });

  it('a worker that died then is not shown as live', async () => {
    const world = make();
    const { queue } = world;
    await whileOff(world, 2 * HOUR, () =>
      queue.exec((calls) => calls.workers.register({ worker: 'dead', serves: true })),
    );
    expect((await queue.stats()).workers).toBe(0);
    expect(await queue.exec((calls) => calls.workers.list({ most: 10 }))).toEqual([]);
    await queue.exec((calls) => calls.workers.register({ worker: 'live', serves: true }));
    expect((await queue.stats()).workers).toBe(1);
  });

  it('the history goes on with the next minute', async () => {
    const world = make();
    const close = async (version = '1') => {
      world.clock.nowMs += MINUTE;
      await world.queue.enqueue(1);
      const reading = { pending: 1, processing: 0, oldestPendingAgeMs: 0, version, gapMs: 10 * MINUTE };
      await world.queue.exec((calls) => calls.history.closeMinute(reading));
    };
    await close();
    await close();
    await whileOff(world, 2 * HOUR, () => close());
    world.clock.nowMs -= MINUTE;
    await close('2');
    await close('2');
    await close('2');
    const { entries, marks } = await world.queue.exec((calls) =>
      calls.history.read({ backMs: 24 * HOUR, most: 100 }),
    );
    expect(entries.map(({ endMs }) => endMs - START)).toEqual([2 * MINUTE, 4 * MINUTE, 5 * MINUTE]);
    expect(marks.map(({ kind }) => kind)).toEqual(['deploy', 'deploy']);
  });

  it('a job that starts next year stays as it is', async () => {
    const world = make();
    const { queue } = world;
    const runAt = new Date(START + 360 * 24 * HOUR);
    const job = await whileOff(world, 2 * HOUR, () => queue.enqueue(1, { runAt }));
    await sweep(world);
    await queue.exec((calls) => calls.sweep.tidy({ limit: 100 }));
    expect((await queue.get(job.id))?.dueAt).toEqual(runAt);
  });
});

onEachStore('where the clock is set back by an hour', () => {
  it('a schedule ticks in the hour that comes again', async () => {
    const world = make();
    await world.queue.schedules.upsert('s', { everyMs: MINUTE });
    expect(await ticksWithin(world, HOUR, MINUTE)).toBe(60);
    world.clock.nowMs -= HOUR;
    expect(await ticksWithin(world, 2 * HOUR, MINUTE)).toBeGreaterThanOrEqual(119);
    expect((await world.queue.stats()).pending).toBeGreaterThanOrEqual(179); // each tick has a job of its own
  });

  it('a daily time that has ticked does not tick again', async () => {
    const world = make();
    await world.queue.schedules.upsert('s', { cron: '30 12 * * *' });
    expect(await ticksWithin(world, 45 * MINUTE, MINUTE)).toBe(1);
    world.clock.nowMs -= HOUR;
    expect(await ticksWithin(world, 2 * HOUR, MINUTE)).toBe(0);
    expect(await ticksWithin(world, 24 * HOUR, 15 * MINUTE)).toBe(1);
  });
});
