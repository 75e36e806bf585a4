// A worker meets jobs whose names it does not know: they stay where every other worker finds them.
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { PatternClient } from '../../support/queue/pattern-client.js';
import { connect } from '../../support/redis/redis.js';
import { eventually } from '../../support/faults/wait.js';
import { leaveBroken, newQueue, startWorker } from '../../support/worker/workers.js';
import { inside } from '../../support/queue/inside.js';

const redisOf = (queue: JobQueue) => inside(queue).connection.client as Redis;

describe('a job whose name no handler of the worker knows', () => {
  it('goes back to pending, uncounted, for a worker that does', async () => {
    const queue = newQueue({ maxAttempts: 1 });
    const { id } = await queue.enqueue({}, { name: 'fax' });
    const ignorant = await startWorker([{ queue, handlers: { mail: () => 'sent' } }]);
    await queue.enqueue({}, { name: 'mail' });
    await ignorant.event('completed');
    const job = await queue.get(id);
    expect(job).toMatchObject({
      status: 'pending',
      attempts: 0,
      unhandled: 1,
      attemptLog: [{ outcome: 'unhandled' }],
    });
    expect(ignorant.warnings).toContainEqual(expect.stringContaining('"fax", which no handler'));
    await ignorant.worker.stop();

    const knowing = await startWorker([{ queue, handlers: { fax: () => 'faxed' } }]);
    await knowing.event('completed');
    expect(await queue.get(id)).toMatchObject({ status: 'completed', attempts: 1 });
  });

  it('is neither hidden nor buried while a live but busy worker has announced the name', async () => {
    const queue = newQueue({ unhandledAgeMs: 1 });
    let finish!: () => void;
    const busy = await startWorker([
      {
        queue,
        concurrency: 1,
        prefetch: 0,
        handlers: { fax: () => new Promise<void>((resolve) => (finish = resolve)) },
      },
    ]);
    await queue.enqueue({}, { name: 'fax' });
    await busy.event('started');
    const { id } = await queue.enqueue({}, { name: 'fax' });
    const ignorant = await startWorker([{ queue, handlers: { mail: () => 'sent' } }]);
    for (let i = 1; i <= 12; i++) {
      await queue.enqueue({}, { name: 'mail' });
      await ignorant.event('completed', i);
    }
    expect(await queue.get(id)).toMatchObject({ status: 'pending' });
    expect((await queue.get(id))!.unhandled).toBeLessThanOrEqual(1);
    finish();
    await busy.event('started', 2, { timeoutMs: 5_000 });
    finish();
    await busy.event('completed', 2);
  });

  it('ends as a dead letter that names it, once no live worker announced it for unhandledAgeMs', async () => {
    const queue = newQueue({ unhandledAgeMs: 1 });
    const { id } = await queue.enqueue({}, { name: 'fax' });
    await startWorker([{ queue, handlers: { mail: () => 'sent' } }]);
    await expect(queue.result(id)).rejects.toThrow('No live worker handles the name "fax"');
    expect(await queue.get(id)).toMatchObject({ status: 'failed', attempts: 0, unhandled: 1 });
  });

  it('says each name once, however many jobs', async () => {
    const queue = newQueue();
    await queue.enqueueMany(Array.from({ length: 200 }, () => ({ payload: {}, name: 'fax' })));
    const worker = await startWorker([{ queue, handlers: { mail: () => 'sent' } }]);
    await queue.enqueue({}, { name: 'mail' });
    await worker.event('completed');
    expect(worker.warnings.filter((text) => text.includes('no handler of this worker knows'))).toHaveLength(1);
  });
});

it("a foreign producer's jobs of unknown names stay in pending, where foreign workers find them", async () => {
  const queue = newQueue();
  leaveBroken(queue); // a foreign complete leaves its token
  const foreign = new PatternClient(redisOf(queue), connect(), queue.name, { history: 1_000 });
  for (let i = 0; i < 200; i++) {
    await foreign.enqueue({ kind: 'fax', i });
  }
  const ours = await startWorker([{ queue, handlers: { mail: () => 'sent' } }]);
  await foreign.enqueue({ kind: 'mail' });
  await ours.event('completed', 1, { timeoutMs: 10_000 });
  await ours.worker.stop();
  expect(await queue.stats()).toMatchObject({ pending: 200, scheduled: 0, processing: 0, failed: 0 });
  const payloads: unknown[] = [];
  for (let job = await foreign.claim(10); job; job = await foreign.claim(10)) {
    payloads.push(job.payload);
    await foreign.complete(job, {});
  }
  expect(payloads).toHaveLength(200);
  expect(payloads[0]).toEqual({ kind: 'fax', i: 0 });
});

it('reaches its own jobs behind 10,000 of another name, and the cost of looking is bounded', async () => {
  const queue = newQueue();
  leaveBroken(queue); // it is not broken, but checking each job takes long
  await queue.enqueueMany(Array.from({ length: 10_000 }, () => ({ payload: {}, name: 'fax' })));
  const { id } = await queue.enqueue({}, { name: 'mail' });
  const worker = await startWorker([{ queue, handlers: { mail: () => 'sent' } }]);
  await worker.event('completed', 1, { id, timeoutMs: 20_000 });
  // Each of the others was taken at most once, in the first round only.
  const [first, last] = [
    await queue.list('pending', { limit: 1 }),
    await queue.list('pending', { offset: 9_999, limit: 1 }),
  ];
  expect(first[0]!.unhandled).toBeLessThanOrEqual(2);
  expect(last[0]).toMatchObject({ name: 'fax', unhandled: 0 });
  const started = performance.now();
  const next = await queue.enqueue({}, { name: 'mail' });
  await worker.event('completed', 1, { id: next.id });
  expect(performance.now() - started).toBeLessThan(5_000);
  const released = (await queue.stats()).totals.released!;
  await eventually(async () => (await queue.stats()).pending === 10_000, { what: 'the jobs of the other name' });
  expect((await queue.stats()).totals.released).toBe(released);
});
