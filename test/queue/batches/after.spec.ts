// Jobs that start after others: `after` of an enqueue.
import { describe, expect, it } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import { InvalidOptionError } from '#queue/errors/errors.js';
import { EnqueueError } from '#queue/errors/enqueue-errors.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { expectUnchanged } from '../../support/queue/queue-state.js';
import { newQueue, onEachStore, startWorker } from '../../support/worker/workers.js';

const done = async (queue: JobQueue, id: string) => {
  const claim = (await queue.claim())!;
  expect(claim.id).toBe(id);
  await queue.complete(claim);
};

onEachStore('after', () => {
  it.each([
    ['failed', async (queue: JobQueue) => queue.fail((await queue.claim())!, new Error('x'), { final: true })],
    ['was cancelled', (queue: JobQueue, id: string) => queue.cancel(id)],
    ['was deleted', (queue: JobQueue, id: string) => queue.remove(id)],
    ['was deleted', (queue: JobQueue) => queue.clean('pending')],
  ])('fails the job, with the reason, and its own follow-up, where one %s (%#)', async (how, end) => {
    const queue = newQueue();
    const [a, b] = await queue.enqueueMany([{ payload: 'a' }, { payload: 'b', delayMs: 60_000 }]);
    const next = await queue.enqueue({}, { after: [a!.id, b!.id] });
    const far = await queue.enqueue({}, { after: [next.id] });
    await end(queue, a!.id);
    expect(await queue.claim()).toBeNull();
    await maintainBatches(queue);
    const lastError = `Job ${a!.id}, after which this job was to start, ${how}. Redrive this job to run it without waiting.`;
    expect(await next.get()).toMatchObject({ status: 'failed', lastError, attempts: 0 });
    expect(await far.get()).toMatchObject({
      status: 'failed',
      lastError: expect.stringContaining(`Job ${next.id},`),
    });
    await queue.deadLetters.redriveMany([next.id]);
    await done(queue, next.id);
  });
});

describe('after', () => {
  it('starts at once where all have completed, and counts delayMs from the last end', async () => {
    const { queue, state } = coreQueue();
    const a = await queue.enqueue({});
    const delayed = await queue.enqueue({}, { after: [a.id], delayMs: 60_000, priority: 5 });
    await done(queue, a.id);
    const due = (await delayed.get())!.dueAt!.getTime() - (await state.now());
    expect(due).toBeGreaterThan(50_000);
    expect(due).toBeLessThanOrEqual(60_000);
    const b = await queue.enqueue({}, { after: [a.id] });
    expect((await b.get())!.status).toBe('pending');
    await queue.reschedule(delayed.id, { delayMs: 0 });
    expect(await queue.claim()).toMatchObject({ id: delayed.id });
  });

  it('makes a chain, a fan-out and a fan-in', async () => {
    const queue = newQueue();
    const order: string[] = [];
    const worker = await startWorker(queue, { handle: (job) => void order.push(job.payload as string) });
    await queue.pause();
    const first = await queue.producer.one(undefined, 'first', {});
    const middle = await queue.enqueueMany(['m', 'm', 'm'].map((payload) => ({ payload, after: [first.id] })));
    const last = await queue.producer.one(undefined, 'last', { after: middle.map(({ id }) => id) });
    const end = await queue.producer.one(undefined, 'end', { after: [last.id] });
    await queue.resume();
    await end.result();
    expect(order).toEqual(['first', 'm', 'm', 'm', 'last', 'end']);
    await worker.worker.stop();
  });

  it('continues where a job fails, is redriven before its dead letter, and completes: a retry is no end', async () => {
    const { queue } = coreQueue();
    const a = await queue.enqueue({}, { maxAttempts: 2 });
    const next = await queue.enqueue({}, { after: [a.id] });
    await queue.fail((await queue.claim())!, new Error('x'), { delayMs: 0 });
    expect((await next.get())!.status).toBe('scheduled');
    await done(queue, a.id);
    await done(queue, next.id);
  });

  it('refuses ids that are unknown or have ended badly, and writes nothing', async () => {
    const { queue, state } = coreQueue();
    const bad = await queue.enqueue({ bad: true });
    await queue.fail((await queue.claim())!, new Error('x'), { final: true });
    const gone = await queue.enqueue({});
    await queue.cancel(gone.id);
    await expectUnchanged(state, async () => {
      for (const [id, why] of [
        ['nobody', `which the queue "${queue.name}" does not know`],
        [bad.id, 'a dead letter'],
        [gone.id, 'was cancelled'],
      ] as const) {
        const refused = await queue.enqueue({}, { after: [id] }).catch((error: unknown) => error);
        expect(refused).toBeInstanceOf(InvalidOptionError);
        expect((refused as Error).message).toContain(why);
      }
    });
  });

  it('refuses a cycle, since each id must exist before', async () => {
    const { queue } = coreQueue();
    await expect(queue.enqueue({}, { id: 'self', after: ['self'] })).rejects.toThrow(InvalidOptionError);
    const pair = [
      { payload: 1, id: 'one', after: ['two'] },
      { payload: 2, id: 'two', after: ['one'] },
    ];
    await expect(queue.enqueueMany(pair)).rejects.toThrow(InvalidOptionError);
    expect(await queue.get('one')).toBeNull();
  });

  it('refuses more than 100 ids, a value that is no id, and a start or key of its own', async () => {
    const { queue, state } = coreQueue();
    const refused = async (options: object) =>
      expect(queue.enqueue({}, options as never)).rejects.toThrow(InvalidOptionError);
    await expectUnchanged(state, async () => {
      await refused({ after: Array.from({ length: 101 }, (_, i) => `${i}`) });
      await refused({ after: 'a' });
      await refused({ after: ['a b'] });
      await refused({ after: ['a'], runAt: Date.now() + 1_000 });
      await refused({ after: ['a'], unique: { key: 'k', for: 'pending' } });
    });
  });

  it('bounds how many jobs wait for one', async () => {
    const { queue, state } = coreQueue();
    const a = await queue.enqueue({});
    await state.redis.hset(state.keys.job(a.id), 'dependents', 'x\n'.repeat(1_000).trim());
    await expect(queue.enqueue({}, { after: [a.id] })).rejects.toThrow('1,000');
  });

  it('does not take others with it that are enqueued in the same tick', async () => {
    const { queue } = coreQueue();
    const outcomes = await Promise.allSettled([
      queue.enqueue({ i: 1 }),
      queue.enqueue({ i: 2 }, { after: ['nobody'] }),
      queue.enqueue({ i: 3 }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).not.toMatchObject({ reason: expect.any(EnqueueError) });
  });

  it('can be cancelled and removed while it waits, and refuses another start', async () => {
    const { queue, state } = coreQueue();
    const a = await queue.enqueue({});
    const [b, c] = await queue.enqueueMany([
      { payload: 1, after: [a.id] },
      { payload: 2, after: [a.id] },
    ]);
    expect(await queue.reschedule(b!.id, { delayMs: 0 })).toBe('refused');
    expect(await queue.cancel(b!.id)).toBe('cancelled');
    expect(await queue.remove(c!.id)).toBe('removed');
    await done(queue, a.id);
    expect(await queue.claim()).toBeNull();
    await maintainBatches(queue);
    expect(await state.redis.exists(state.keys.awaiting)).toBe(0);
  });

  it('is no more looked at by maintenance once its job may start', async () => {
    const { queue, state } = coreQueue();
    const a = await queue.enqueue({});
    await queue.enqueue({}, { after: [a.id] });
    expect(await state.redis.exists(state.keys.awaiting)).toBe(1);
    await done(queue, a.id);
    expect(await state.redis.exists(state.keys.awaiting)).toBe(0);
  });
});
