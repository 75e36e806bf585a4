// Batches in several processes, one of which dies; and the last members ending at one moment.
import { describe, expect, it, jest } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';
import { eventually } from '../../support/faults/wait.js';
import { casesOf } from '../../support/run/samples.js';
import { WorkerProcess } from '../../support/worker/worker-process.js';

const LONG_MS = 90_000;
jest.setTimeout(LONG_MS);
const enqueued = async (queue: JobQueue) => (await queue.stats()).totals.enqueued;

describe('the last two members', () => {
  it('end at the same moment on two connections: one follow-up, each time', async () => {
    const { queue } = coreQueue();
    const other = sameQueue(queue);
    for (let i = 1; i <= casesOf(50, 15); i++) {
      const batch = queue.batch({ then: { name: 'then' } });
      await batch.addMany(queue.name, [{ payload: 1 }, { payload: 2 }]);
      const [a, b] = await queue.claimMany(2);
      await Promise.all([
        queue.complete(a!),
        other.complete(b!),
        batch.seal(),
        other.complete(b!),
        queue.complete(a!),
      ]);
      expect(await batch.status()).toMatchObject({ state: 'fired', completed: 2 });
      expect(await enqueued(queue)).toBe(3 * i);
      await queue.complete((await queue.claim())!);
    }
  });

  it('end at the same moment in two processes: one follow-up for each batch', async () => {
    const { queue } = coreQueue();
    const options = { queue: queue.name, slots: { concurrency: 4, prefetch: 0 }, workMs: 5 };
    const workers = await Promise.all([WorkerProcess.start(options), WorkerProcess.start(options)]);
    const batches = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const batch = queue.batch({ then: { payload: 'then' }, finally: { payload: 'finally' } });
        await batch.addMany(
          queue.name,
          Array.from({ length: 6 }, (_, payload) => ({ payload })),
        );
        await batch.seal();
        return batch;
      }),
    );
    for (const batch of batches) {
      await eventually(async () => (await batch.status()).state === 'ended', { timeoutMs: LONG_MS });
      expect(await batch.status()).toMatchObject({ completed: 6, total: 6, failed: 0 });
    }
    expect(await enqueued(queue)).toBe(20 * 8);
    await Promise.all(workers.map((worker) => worker.signal('SIGKILL')));
  });
});

describe('a worker that is killed', () => {
  it('while it runs the last member: another runs it, and the batch fires once', async () => {
    const { queue } = coreQueue({ visibilityMs: 1_000 });
    const options = {
      queue: queue.name,
      queueOptions: { visibilityMs: 1_000 },
      slots: { concurrency: 1, prefetch: 0 },
    };
    const slow = await WorkerProcess.start({ ...options, workMs: 60_000 });
    const batch = queue.batch({ then: { payload: 'then' } });
    await batch.add(queue.name, 'only');
    await batch.seal();
    await slow.event('started');
    await slow.signal('SIGKILL');
    expect((await batch.status()).state).toBe('sealed');
    const quick = await WorkerProcess.start({ ...options, workMs: 1, workerOptions: { sweepIntervalMs: 200 } });
    await eventually(async () => (await batch.status()).state === 'ended', { timeoutMs: LONG_MS });
    expect(await enqueued(queue)).toBe(2);
    await quick.signal('SIGKILL');
  });

  it('by the last member, until that is a dead letter: the batch fires once', async () => {
    const queueOptions = { visibilityMs: 1_000, maxCrashes: 1 };
    const { queue } = coreQueue(queueOptions);
    const options = { queue: queue.name, queueOptions, slots: { concurrency: 1, prefetch: 0 }, workMs: 1 };
    const victim = await WorkerProcess.start(options);
    const batch = queue.batch({ then: { payload: 'then' }, onFailure: { payload: 'broke' } });
    await batch.add(queue.name, 'poison');
    await batch.seal();
    await eventually(() => victim.isDead, { timeoutMs: LONG_MS });
    const next = await WorkerProcess.start({ ...options, workerOptions: { sweepIntervalMs: 200 } });
    await eventually(async () => (await batch.status()).state === 'ended', { timeoutMs: LONG_MS });
    expect(await queue.get(`@batch:${batch.id}:on_failure`)).toMatchObject({ status: 'completed' });
    expect(await enqueued(queue)).toBe(2);
    await next.signal('SIGKILL');
  });
});

it('random ends of random kinds, by several callers: fired once, never early', async () => {
  const { queue, state } = coreQueue({ maxCrashes: 1 });
  const other = sameQueue(queue, { maxCrashes: 1 });
  const fates = ['complete', 'fail', 'crash', 'cancel', 'remove', 'redrive', 'release'] as const;
  let follow = 0;
  let members = 0;
  for (let round = 0; round < casesOf(60, 21); round++) {
    const batch = queue.batch({ then: { name: 'then' }, onFailure: { name: 'broke' } });
    const size = round % 6;
    await batch.addMany(
      queue.name,
      Array.from({ length: size }, (_, payload) => ({ payload, maxAttempts: 1 })),
    );
    members += size;
    const open = new Set((await batch.results()).members.map(({ id }) => id));
    const claims = await queue.claimMany(Math.max(1, size));
    if (round % 2) await batch.seal();
    for (const [i, claim] of claims.entries()) {
      const fate = fates[(round * 7 + i * 3) % fates.length]!;
      if (open.size > 0 || round % 2 === 0) expect((await batch.status()).firedAt).toBeUndefined();
      const by = i % 2 ? queue : other;
      if (fate === 'complete') await Promise.all([by.complete(claim), by.complete(claim), queue.complete(claim)]);
      if (fate === 'fail') await by.fail(claim, new Error('x'));
      if (fate === 'crash') {
        await state.expireClaims(claim.id);
        await Promise.all([queue.reclaim(), other.reclaim()]);
      }
      if (fate === 'cancel' || fate === 'remove' || fate === 'release') {
        await by.release(claim);
        if (fate === 'cancel') await by.cancel(claim.id);
        if (fate === 'remove') await by.remove(claim.id);
        if (fate === 'release') await by.complete((await by.claim())!);
      }
      if (fate === 'redrive') {
        await by.fail(claim, new Error('x'));
        const fired = (await batch.status()).firedAt !== undefined;
        await by.deadLetters.redriveMany([claim.id]);
        if (!fired) expect((await batch.status()).open).toBe(open.size);
        await by.complete((await by.claimMany(5)).find(({ id }) => id === claim.id)!);
      }
      open.delete(claim.id);
    }
    if (round % 2 === 0) await batch.seal();
    expect(await batch.status()).toMatchObject({ open: 0, total: size });
    expect((await batch.status()).firedAt).toBeInstanceOf(Date);
    follow++;
    for (const claim of await queue.claimMany(10)) await queue.complete(claim);
    await maintainBatches(queue, { all: true });
    expect(await enqueued(queue)).toBe(members + follow);
  }
});
