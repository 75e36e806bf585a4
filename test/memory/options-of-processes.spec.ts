// Processes whose options of one queue differ: a queue in memory does what a queue on Redis does.
import { expect, it } from '@jest/globals';
import type { QueueOptions } from '#queue/model/queue-options.js';
import { JobQueue } from '#queue/job-queue.js';
import { eventually } from '../support/faults/wait.js';
import { newQueue, onEachStore } from '../support/worker/workers.js';

/** Returns a queue as a process with default options opens it first, and as one with others opens it later. */
async function bothOf(options: QueueOptions): Promise<{ first: JobQueue; later: JobQueue }> {
  const first = newQueue();
  await first.stats();
  return { first, later: new JobQueue(first.store, first.name, options) };
}

async function announce(queue: JobQueue, worker = 'w'): Promise<void> {
  await queue.exec((calls) => calls.workers.register({ worker, serves: true, handlers: [] }));
}

/** Returns whether the queue has the announcement of a worker, which renews it. */
async function isKnown(queue: JobQueue, worker: string, checks = true): Promise<boolean> {
  const announced = [{ calls: await queue.calls(), handlers: [] }];
  const [outcome] = await queue.store.queues.renew(announced, { worker, checks }, { timeoutMs: 5_000 });
  return outcome!.ok && outcome!.reply.isKnown;
}

async function enqueue(queue: JobQueue, count: number): Promise<void> {
  await queue.enqueueMany(Array.from({ length: count }, (_, payload) => ({ payload })));
}

async function runAll(queue: JobQueue, end: (job: NonNullable<Awaited<ReturnType<JobQueue['claim']>>>) => unknown) {
  for (let job = await queue.claim(); job; job = await queue.claim()) await end(job);
}

onEachStore('a process that opens a queue later with other options', () => {
  it('keeps as many completed jobs as it is told to', async () => {
    const { first, later } = await bothOf({ completedHistory: 1 });
    await enqueue(first, 3);
    await runAll(later, (job) => later.complete(job));
    expect((await first.stats()).completed).toBe(1);
    await enqueue(first, 3);
    await runAll(first, (job) => first.complete(job));
    expect((await later.stats()).completed).toBe(4);
  });

  it('claims for its own visibility timeout', async () => {
    const { first, later } = await bothOf({ visibilityMs: 7_200_000 });
    await enqueue(first, 2);
    const [long, short] = [await later.claim(), await first.claim()];
    const listed = (await first.list('processing')).map(({ id }) => id); // the next to expire first
    expect(listed).toEqual([short!.id, long!.id]);
    await first.exec((calls) => calls.extend([short!], 7_300_000));
    expect((await first.list('processing')).map(({ id }) => id)).toEqual([long!.id, short!.id]);
  });

  it('bounds its own enqueues', async () => {
    const { first, later } = await bothOf({ maxPending: 1 });
    await enqueue(first, 2);
    await expect(enqueue(later, 1)).rejects.toThrow('full');
    await enqueue(first, 1);
    expect((await first.stats()).pending).toBe(3);
  });

  it('publishes by its own options', async () => {
    const { first, later } = await bothOf({ events: 'off' });
    const calls = await first.calls();
    const seen: string[] = [];
    const end = await first.store.subscribe(calls, ({ id }) => void seen.push(id));
    for (const [id, queue] of [
      ['a', later],
      ['b', first],
    ] as const) {
      await first.enqueue(1, { id });
      await queue.complete((await queue.claim())!);
    }
    await eventually(() => seen.includes('b'));
    end();
    expect(seen).toEqual(['b']);
  });

  it('gives jobs its own attempts, as the process that fails them does not', async () => {
    const { first, later } = await bothOf({ maxAttempts: 1 });
    await enqueue(first, 2);
    const [one, other] = await first.claimMany(2);
    await first.fail(one!, new Error('no'), { delayMs: 60_000 });
    await later.fail(other!, new Error('no'), { delayMs: 60_000 });
    expect(await first.stats()).toMatchObject({ scheduled: 1, failed: 1 });
  });

  it('sets the retention of every process once its worker has announced it', async () => {
    const { first, later } = await bothOf({ deadLetterCap: 1, cancelledHistory: 1 });
    await enqueue(first, 4);
    await runAll(first, (job) => first.fail(job, new Error('no'), { final: true }));
    expect((await first.stats()).failed).toBe(4);
    await announce(later);
    await first.exec((calls) => calls.sweep.tidy({ limit: 100 }));
    expect((await first.stats()).failed).toBe(1);
    for (const id of ['a', 'b']) {
      await first.enqueue(1, { id });
      await first.cancel(id);
    }
    expect((await first.stats()).cancelled).toBe(1);
  });

  it('lets every sweep wait after a gap for a heartbeat of the visibility timeout that its worker announced', async () => {
    const { first, later } = await bothOf({ visibilityMs: 600_000 });
    await announce(later);
    await enqueue(first, 1);
    const claimed = (await first.claim())!;
    await first.exec((calls) => calls.extend([claimed], 1));
    await eventually(async () => (await first.stats()).expiredClaims > 0);
    expect(await first.exec((calls) => calls.sweep.reclaim({ limit: 9, gapMs: 0, waitMs: 0 }))).toEqual({
      reclaimed: [],
      more: false,
    });
  });

  it('limits every process once its worker has announced its limits, until that worker is gone', async () => {
    const { first, later } = await bothOf({ maxRunning: 1 });
    await enqueue(first, 6);
    expect(await later.claimMany(2)).toHaveLength(2);
    expect(await first.limits.get()).toEqual({ source: 'none' });
    await announce(later);
    expect(await first.limits.get()).toEqual({ source: 'configuration', maxRunning: 1 });
    await announce(new JobQueue(first.store, first.name, { maxRunning: 9 }), 'another');
    await announce(first, 'third');
    expect(await first.claimMany(2)).toEqual([]);
    await later.exec((calls) => calls.workers.register({ worker: 'w', serves: false, handlers: [] }));
    await announce(first, 'third');
    expect(await first.limits.get()).toEqual({ source: 'none' });
    expect(await first.claimMany(2)).toHaveLength(2);
  });

  it('asks its worker to announce again what another one has changed, or limits whose worker is gone', async () => {
    const { first, later } = await bothOf({ completedHistory: 1, maxRunning: 1 });
    for (const [queue, worker] of [
      [later, 'old'],
      [first, 'new'],
    ] as const) {
      await announce(queue, worker);
      await queue.exec((calls) =>
        calls.workers.describe({ worker, details: { host: 'h', pid: 1, slots: 1 }, ageMs: 0 }),
      );
    }
    expect(await isKnown(first, 'new')).toBe(true);
    expect(await isKnown(later, 'old', false)).toBe(false); // registrations decide whose limits apply
    await announce(later, 'old');
    expect(await isKnown(first, 'new', false)).toBe(true);
    expect(await isKnown(first, 'new')).toBe(false);
    await announce(first, 'new');
    expect(await isKnown(first, 'new')).toBe(true);
    await later.exec((calls) => calls.workers.register({ worker: 'old', serves: false, handlers: [] }));
    expect(await isKnown(first, 'new')).toBe(false);
    await announce(first, 'new');
    expect(await first.limits.get()).toEqual({ source: 'none' });
  });

  it('counts a wait for its rate once, also where its worker announces the same limits again', async () => {
    const { later } = await bothOf({ rateLimit: { limit: 1, periodMs: 3_600_000 } });
    await announce(later);
    await enqueue(later, 2);
    expect(await later.claim()).not.toBeNull();
    for (let i = 0; i < 2; i++) {
      expect(await later.claim()).toBeNull();
      await announce(later);
    }
    expect((await later.stats()).totals.limited).toBe(1);
  });

  it('keeps a spent rate beside limits of run time, also where its worker is gone', async () => {
    const rateLimit = { limit: 1, periodMs: 3_600_000 };
    const { first, later } = await bothOf({ rateLimit });
    await announce(later);
    await enqueue(first, 2);
    expect(await later.claim()).not.toBeNull();
    await first.limits.set({ maxRunning: 9 });
    await later.exec((calls) => calls.workers.register({ worker: 'w', serves: false, handlers: [] }));
    await announce(first, 'another');
    await first.limits.set({ rateLimit });
    expect(await first.claim()).toBeNull();
  });

  it('lets its worker claim nothing before the limits of a worker are known', async () => {
    const { first, later } = await bothOf({ maxRunning: 1 });
    await enqueue(first, 2);
    const claim = (token: string) =>
      later.exec((calls) => calls.claim({ worker: 'w', stream: '0', token, count: 2, slots: 2, announces: true }));
    expect(await claim('t1')).toMatchObject({ isUnannounced: true, jobs: [] });
    await announce(later);
    const { isUnannounced, jobs } = await claim('t2');
    expect([isUnannounced, jobs.length]).toEqual([false, 1]);
  });
});
