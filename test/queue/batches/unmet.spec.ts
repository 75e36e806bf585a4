// Jobs that must not run, because a job of their `after` did not end well.
import { expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { newClockedQueue, newQueue, onEachStore } from '../../support/worker/workers.js';

/** Enqueues jobs that wait for one which fails. */
async function unmet(queue: JobQueue, count: number, options: object = {}) {
  const first = await queue.enqueue({ first: true }, { maxAttempts: 1 });
  const after = await queue.enqueueMany(
    Array.from({ length: count }, (_, payload) => ({ payload, after: [first.id], ...options })),
  );
  await queue.fail((await queue.claim())!, new Error('no ink'), { final: true });
  return after;
}

onEachStore('an unmet job', () => {
  it.each([{}, { group: 'g' }])('takes no slot, pays no rate and counts no crash, with %j', async (options) => {
    const queue = newQueue({ visibilityMs: 1_000 });
    await queue.limits.set({ maxRunning: 1, rateLimit: { limit: 2, periodMs: 3_600_000, burst: 2 } });
    const jobs = await unmet(queue, 3, options);
    const good = await queue.enqueue({ good: true }, options);
    expect(await queue.claimMany(5)).toMatchObject([{ id: good.id }]);
    expect((await queue.stats()).processing).toBe(1);
    await maintainBatches(queue);
    for (const job of jobs) {
      const record = await job.get();
      expect(record).toMatchObject({ status: 'failed', attempts: 0, crashes: 0 });
      expect(record!.lastError).toContain('after which this job was to start, failed.');
    }
  });

  it('does not hold up the promotion of a due job, nor its claim', async () => {
    const { queue, clock } = newClockedQueue();
    await unmet(queue, 120);
    const due = await queue.enqueue({ due: true }, { delayMs: 1_000 });
    clock.nowMs += 1_000;
    expect(await queue.exec((calls) => calls.sweep.promote({ limit: 10 }))).toBe(1);
    expect(await queue.claimMany(5)).toMatchObject([{ id: due.id }]);
  });

  it('has a fence that no other job has, which names its failure job', async () => {
    const queue = newQueue();
    await unmet(queue, 3);
    await maintainBatches(queue);
    const { jobs: letters } = await queue.deadLetters.list();
    expect(new Set(letters.map(({ fence }) => fence)).size).toBe(4);
  });

  it('cannot be moved, ends with its follow-ups, and may be redriven', async () => {
    const queue = newQueue();
    const [job] = await unmet(queue, 1);
    const next = await queue.enqueue({ next: true }, { after: [job!.id] });
    const last = await queue.enqueue({ last: true }, { after: [next.id] });
    expect(await queue.promote(job!.id)).toBe('refused');
    expect(await queue.reschedule(job!.id, { delayMs: 0 })).toBe('refused');
    expect(await queue.claim()).toBeNull();
    await queue.pause();
    await maintainBatches(queue); // also in a paused queue
    await queue.resume();
    expect(await last.get()).toMatchObject({ status: 'failed', lastError: expect.stringContaining(next.id) });
    expect(await last.get()).not.toHaveProperty('after');
    await queue.deadLetters.redriveMany([job!.id]);
    expect(await queue.claim()).toMatchObject({ id: job!.id });
  });

  it('stays one when the other job is redriven and completes before it has ended', async () => {
    const queue = newQueue();
    const [job] = await unmet(queue, 1);
    const [first] = (await queue.deadLetters.list()).jobs;
    await queue.deadLetters.redriveMany([first!.id]);
    await queue.complete((await queue.claim())!);
    expect(await queue.claim()).toBeNull();
    await maintainBatches(queue);
    expect(await job!.get()).toMatchObject({ status: 'failed' });
  });

  it('reports its end to its batch', async () => {
    const queue = newQueue();
    const first = await queue.enqueue({ first: true }, { maxAttempts: 1 });
    const batch = queue.batch({ onFailure: { name: 'broke' } });
    await batch.add(queue.name, { member: true }, { after: [first.id] });
    await batch.seal();
    await queue.fail((await queue.claim())!, new Error('no ink'), { final: true });
    await maintainBatches(queue);
    expect(await batch.status()).toMatchObject({ state: 'fired', failed: 1 });
    expect(await queue.claim()).toMatchObject({ name: 'broke' });
  });
});

it('the end of an unmet job is finished by a later run where a run broke off, and reaches @OnJobFailed once', async () => {
  const { queue, state } = coreQueue();
  const first = await queue.enqueue({}, { delayMs: 60_000 });
  const job = await queue.enqueue({}, { name: 'page', after: [first.id] });
  await state.redis.zadd(state.keys.names, await state.now(), '@failed:page');
  await queue.cancel(first.id);
  await state.redis.set(state.keys.failed, 'no list');
  await expect(maintainBatches(queue)).rejects.toThrow('WRONGTYPE');
  await state.redis.del(state.keys.failed);
  await state.redis.zadd(state.keys.awaiting, 0, job.id);
  await maintainBatches(queue);
  expect(await state.redis.zscore(state.keys.scheduled, job.id)).toBeNull();
  expect(await state.redis.lrange(state.keys.failed, 0, -1)).toEqual([job.id]);
  expect(await queue.claimMany(5)).toMatchObject([{ name: '@failed:page' }]);
  await maintainBatches(queue);
  expect(await state.redis.exists(state.keys.awaiting)).toBe(0);
});
