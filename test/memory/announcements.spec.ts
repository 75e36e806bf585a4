// Both stores forget what workers announced, at the same moments.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { systemClock } from '#queue/runtime/clock.js';
import { encodeSchedule } from '#queue/schedules/schedule.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { ScriptStore } from '#memory/script-store.js';
import { newClockedQueue, newQueue, onEachStore } from '../support/worker/workers.js';

const HOUR = 3_600_000;
const handlers = ['mail', '@failed:mail'].map((name) => ({ name, maxAttempts: 1, maxCrashes: 1 }));
const register = (queue: JobQueue, serves: boolean) =>
  queue.exec((calls) => calls.workers.register({ worker: 'w', serves, handlers }));

async function statusOfFailed(queue: JobQueue): Promise<string> {
  const { id } = await queue.enqueue(1, { name: 'mail' });
  await queue.fail((await queue.claim())!, new Error('no'), { delayMs: HOUR });
  return (await queue.get(id))!.status;
}

onEachStore('the announcement of a worker', () => {
  it('is forgotten with the last worker of a queue without jobs', async () => {
    const queue = newQueue();
    await register(queue, true);
    await register(queue, false);
    expect(await statusOfFailed(queue)).toBe('scheduled');
    expect(await queue.exec((calls) => calls.content())).toBeUndefined();
  });

  it('is kept while the queue has a job', async () => {
    const queue = newQueue();
    await register(queue, true);
    await queue.enqueue(1, { delayMs: HOUR });
    await register(queue, false);
    expect(await statusOfFailed(queue)).toBe('failed');
    expect(await queue.exec((calls) => calls.content())).toBeDefined();
  });

  it('is forgotten by a sweep after the last worker died', async () => {
    const { queue, clock } = newClockedQueue();
    await register(queue, true);
    clock.nowMs += HOUR;
    await queue.exec((calls) => calls.sweep.tidy({ limit: 500 }));
    expect(await statusOfFailed(queue)).toBe('scheduled');
  });

  it('is forgotten by a purge without a live worker, but for the handlers of failures within a day', async () => {
    const { queue, clock } = newClockedQueue({ maxAttempts: 1 });
    await register(queue, true);
    clock.nowMs += HOUR;
    await queue.purge({ confirm: queue.name });
    expect(await statusOfFailed(queue)).toBe('failed');
    expect((await queue.claim())?.name).toBe('@failed:mail');
    clock.nowMs += 24 * HOUR;
    expect(await statusOfFailed(queue)).toBe('failed');
    expect(await queue.claim()).toBeNull();
  });

  it('is kept by a purge beside a live worker', async () => {
    const queue = newQueue();
    await register(queue, true);
    await queue.purge({ confirm: queue.name });
    expect(await statusOfFailed(queue)).toBe('failed');
  });

  it('has its names listed, the latest first, and of one moment in the reverse of their order', async () => {
    const { queue, clock } = newClockedQueue();
    for (const names of ['mbzad', 'klcefghij', 'y']) {
      const each = names.split('').map((name) => ({ name, maxAttempts: 1, maxCrashes: 1 }));
      await queue.exec((calls) => calls.workers.register({ worker: 'w', serves: true, handlers: each }));
      clock.nowMs += 1_000;
    }
    const { names } = await queue.exec((calls) => calls.unserved({ jobs: [{ id: 'x', name: 'x' }] }));
    expect(names.join('')).toBe('ylkjihgfec');
  });

  it('says since when a worker runs, by its own age', async () => {
    const { queue, clock } = newClockedQueue();
    await register(queue, true);
    await queue.exec((calls) =>
      calls.workers.describe({ worker: 'w', details: { host: 'h', pid: 1, slots: 1 }, ageMs: HOUR }),
    );
    expect(await queue.workers()).toMatchObject([{ id: 'w', startedAt: new Date(clock.nowMs - HOUR) }]);
  });

  it('has the schedules of their code: without a worker that declares it, a schedule makes no tick', async () => {
    const { queue, clock } = newClockedQueue();
    const schedule = encodeSchedule(queue, 'report', { everyMs: HOUR }, {});
    clock.nowMs = (Math.floor(clock.nowMs / HOUR) + 1.5) * HOUR; // so the declaration ends before the tick
    await queue.schedules.put(schedule, 'w');
    clock.nowMs = (await queue.schedules.get('report'))!.nextAt!.getTime();
    expect(await queue.schedules.tick()).toMatchObject({ enqueued: 0 });
    expect(await queue.schedules.get('report')).toMatchObject({ status: 'undeclared', nextAt: null, ticks: 0 });
    await queue.schedules.declare('w', true, [schedule]);
    expect(await queue.schedules.tick()).toMatchObject({ enqueued: 1 });
  });

  it('keeps a schedule of their code from another version, until its worker is gone', async () => {
    const { queue, clock } = newClockedQueue();
    const upsert = async (everyMs: number, worker: string) => {
      const schedule = encodeSchedule(queue, 'report', { everyMs }, {});
      const { outcome } = await queue.exec((calls) =>
        calls.schedules.upsert({ schedule, worker, nextDueMs: clock.nowMs + HOUR }),
      );
      return outcome;
    };
    expect(await upsert(HOUR, 'ada')).toBe('created');
    expect(await upsert(HOUR, 'ada')).toBe('unchanged');
    expect(await upsert(2 * HOUR, 'bob')).toBe('conflict');
    clock.nowMs += HOUR;
    expect(await upsert(2 * HOUR, 'bob')).toBe('changed');
  });
});

onEachStore('the claims of a worker whose process has ended', () => {
  it('are reclaimed at once, and those of another worker are not', async () => {
    const queue = newQueue();
    await queue.enqueueMany(['a', 'b'].map((id) => ({ payload: 1, id })));
    for (const worker of ['w1', 'w2']) {
      await queue.exec((calls) => calls.claim({ worker, stream: '0', count: 1, token: worker }));
    }
    const { reclaimed } = await queue.exec((calls) =>
      calls.sweep.reclaimWorker({ worker: 'w1', cursor: '0', limit: 500 }),
    );
    expect(reclaimed).toMatchObject([{ id: 'a', status: 'pending' }]);
    expect([(await queue.get('a'))!.status, (await queue.get('b'))!.status]).toEqual(['pending', 'processing']);
  });
});

it('forgets the details of workers in memory ten minutes after the last were stored, as their key on Redis expires', async () => {
  let now = 0;
  const server = new ScriptServer(() => now);
  const queue = newQueue({}, new ScriptStore({ ...systemClock, now: () => now }, { server }));
  await register(queue, true);
  await queue.exec((calls) =>
    calls.workers.describe({ worker: 'w', details: { host: 'h', pid: 1, slots: 1 }, ageMs: 0 }),
  );
  now = 599_999;
  await register(queue, true);
  expect(await queue.workers()).toMatchObject([{ id: 'w', host: 'h' }]);
  now = 600_000;
  expect((await queue.workers())[0]).not.toHaveProperty('host');
});
