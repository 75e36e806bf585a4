// Batches and jobs that start after others: the same on Redis and in memory.
import { getEventListeners } from 'node:events';
import { expect, it } from '@jest/globals';
import { defineJob } from '#queue/enqueue/define-job.js';
import {
  BatchSealedError,
  InvalidOptionError,
  InvalidPayloadError,
  QueueClosedError,
  RateLimitedError,
} from '#queue/errors/errors.js';
import type { GroupLimits } from '#queue/model/limits.js';
import type { JobQueue } from '#queue/job-queue.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import type { StandardSchema } from '#queue/validation/validate-with-schema.js';
import { eventually, sleep } from '../../support/faults/wait.js';
import {
  loseHash,
  newClockedQueue,
  newQueue,
  onEachStore,
  startWorker,
  untilAborted,
} from '../../support/worker/workers.js';
import { sealed } from '../../support/queue/unsealed.js';

const FOLLOW_UPS = { then: { name: 'then' }, onFailure: { name: 'broke' }, finally: { name: 'last' } };
const error = new Error('no ink');

/** Claims until nothing is left, and completes; a cancelled job is refused by the claim. Returns the names. */
async function runAll(queue: JobQueue): Promise<string[]> {
  const names: string[] = [];
  for (let jobs = await queue.claimMany(10); jobs.length > 0; jobs = await queue.claimMany(10)) {
    for (const job of jobs) await queue.complete(job, job.payload);
    names.push(...jobs.map(({ name }) => name));
  }
  return names.toSorted(); // two follow-ups start at the same moment
}

async function batchOf(queue: JobQueue, count: number) {
  const batch = queue.batch(FOLLOW_UPS);
  await batch.addMany(
    queue.name,
    Array.from({ length: count }, (_, payload) => ({ payload, maxAttempts: 1 })),
  );
  await batch.seal();
  return batch;
}

const meetLimit = () => {
  throw new RateLimitedError({ retryAfterMs: 1 });
};

/** A schema that refuses every payload, later. */
const refusing: StandardSchema = {
  '~standard': { version: 1, vendor: 'test', validate: async () => ({ issues: [{ message: 'no' }] }) },
};

const handle = ({ payload }: { payload: unknown }) => payload;

const sum = async (job: { batch?: { members(): AsyncIterable<{ result?: unknown }> } }) => {
  let total = 0;
  for await (const { result } of job.batch!.members()) total += Number(result);
  return total;
};

onEachStore('after', () => {
  it('starts jobs that name one which runs already, however soon its result is forgotten', async () => {
    const queue = newQueue({ resultTtlMs: 1 });
    const order: unknown[] = [];
    let end!: () => void;
    const handlers = {
      [queue.name]: ({ payload }: { payload: unknown }) => void order.push(payload),
      long: () => new Promise<void>((resolve) => (end = resolve)),
    };
    const worker = await startWorker([{ queue, handlers }], undefined, { sweepIntervalMs: 0 });
    const first = await queue.producer.one(undefined, 'first', { name: 'long' });
    await eventually(() => end !== undefined);
    const next = await queue.enqueueMany([1, 2].map((payload) => ({ payload, after: [first.id] })));
    expect((await next[0]!.get())!.status).toBe('scheduled');
    end();
    await worker.event('completed', 3);
    expect(order).toEqual(expect.arrayContaining([1, 2]));
  });

  it.each(['waits', 'became unmet'])(
    'is over for a job that is cancelled while it %s, and then run again',
    async (when) => {
      const queue = newQueue();
      const first = await queue.enqueue({}, { delayMs: 60_000 });
      const second = await queue.enqueue({}, { delayMs: 60_000 });
      const job = await queue.enqueue({}, { after: [first.id, second.id], delayMs: 60_000 });
      if (when === 'became unmet') await queue.cancel(first.id);
      await queue.cancel(job.id);
      await maintainBatches(queue);
      await queue.runAgain(job.id);
      expect(await job.get()).not.toHaveProperty('after');
      expect(await queue.reschedule(job.id, { delayMs: 60_000 })).toBe('scheduled');
      await queue.cancel(second.id);
      expect(await queue.promote(job.id)).toBe('pending');
      expect(await queue.claim()).toMatchObject({ id: job.id });
    },
  );

  it('is not deleted with the job that it waits for, but becomes a dead letter', async () => {
    const queue = newQueue();
    const first = await queue.enqueue({}, { priority: 5 });
    const next = await queue.enqueue({}, { after: [first.id] });
    expect(await queue.clean('pending')).toBe(1);
    await maintainBatches(queue);
    expect(await next.get()).toMatchObject({ status: 'failed' });
  });
});

onEachStore('a batch', () => {
  it('is named by its members and follow-ups, and has its progress as often as asked', async () => {
    const [home, other] = [newQueue(), newQueue()];
    const batch = home.batch({ then: { name: 'then' } });
    const [near, far] = [await batch.add(home.name, 1), await batch.add(other.name, 1, { queue: other })];
    const member = { id: batch.id, queue: home.name, role: 'member' };
    expect([(await near.get())!.batch, (await far.get())!.batch]).toEqual([member, member]);
    const { signal } = new AbortController();
    for await (const { total } of batch.progress({ everyMs: 50, signal })) {
      expect(total).toBe(2);
      break;
    }
    await batch.seal();
    for (const queue of [home, other]) await queue.complete((await queue.claim())!);
    await maintainBatches(other);
    expect((await home.get(`@batch:${batch.id}:then`))!.batch).toEqual({ ...member, role: 'follow-up' });
  });

  it('fires once, when its last member has ended, with readable outcomes', async () => {
    const queue = newQueue();
    const batch = await batchOf(queue, 2);
    const [one, two] = await queue.claimMany(2);
    await queue.complete(one!, 'first');
    expect(await batch.status()).toMatchObject({ state: 'sealed', total: 2, open: 1, completed: 1 });
    await queue.complete(two!, 'second');
    expect(await batch.status()).toMatchObject({ state: 'fired', open: 0, completed: 2 });
    expect((await batch.results()).members).toMatchObject([{ result: 'first' }, { result: 'second' }]);
    expect(await runAll(queue)).toEqual(['last', 'then']);
    expect(await batch.status()).toMatchObject({ state: 'ended' });
    expect(await queue.listBatches()).toEqual([]);
    const later = await batchOf(queue, 1);
    await queue.complete((await queue.claim())!);
    await runAll(queue);
    const ended = [await later.status(), await batch.status()];
    expect(await queue.listBatches({ ended: true })).toEqual(ended);
    expect(await queue.listBatches({ ended: true, limit: 1 })).toEqual([ended[0]]);
    expect(await queue.listBatches({ ended: true, offset: 1 })).toEqual([ended[1]]);
  });

  it('is listed in pages, the oldest first, until it ends', async () => {
    const { queue, clock } = newClockedQueue();
    for (const id of ['a', 'c', 'b']) {
      await queue.batch({ id }).add(queue.name, 1);
      clock.nowMs += 1;
    }
    const page = async (options: object) => (await queue.listBatches(options)).map(({ id }) => id);
    expect(await page({})).toEqual(['a', 'c', 'b']);
    expect(await page({ offset: 1, limit: 1 })).toEqual(['c']);
    await queue.findBatch('a').cancel();
    await queue.findBatch('a').seal();
    expect(await page({ limit: 2 })).toEqual(['c', 'b']);
  });

  it('is not listed if it is not sealed for a week', async () => {
    const { queue, clock } = newClockedQueue();
    await queue.batch({ id: 'open' }).add(queue.name, 1);
    clock.nowMs += 7 * 86_400_000 + 1;
    await maintainBatches(queue, { all: true });
    expect(await queue.listBatches()).toEqual([]);
    expect((await queue.stats()).batches).toBeUndefined();
  });

  it('fires onFailure where a member failed, and waits again for one that was redriven before', async () => {
    const queue = newQueue();
    const batch = await batchOf(queue, 2);
    const [one, two] = await queue.claimMany(2);
    await queue.fail(one!, error, { final: true });
    expect(await queue.deadLetters.redriveMany([one!.id])).toBe(1);
    expect(await batch.status()).toMatchObject({ open: 2, failed: 0 });
    await queue.complete(two!, 0);
    const [again] = await queue.claimMany(1);
    await queue.fail(again!, error, { final: true });
    expect((await batch.results()).members[0]).toMatchObject({ status: 'failed', error: 'no ink' });
    expect(await runAll(queue)).toEqual(['broke', 'last']);
    await queue.deadLetters.redriveMany([one!.id]);
    expect(await runAll(queue)).toEqual([queue.name]); // and nothing fires again
    expect(await batch.status()).toMatchObject({ state: 'ended', failed: 1, completed: 1 });
  });

  it('fires where it is empty, and takes no member once it is sealed', async () => {
    const queue = newQueue();
    const batch = await batchOf(queue, 0);
    await expect(batch.add(queue.name, 0)).rejects.toThrow(BatchSealedError);
    expect(await runAll(queue)).toEqual(['last', 'then']);
  });

  it('is not opened if an asynchronous schema refuses the payload of a follow-up', async () => {
    const queue = newQueue();
    const definition = defineJob('then', { payload: refusing });
    const batch = queue.batch({ then: { definition, payload: 1 } });
    await expect(batch.seal()).rejects.toThrow(InvalidPayloadError);
    expect((await queue.stats()).batches).toBeUndefined();
  });

  it('has members in another queue', async () => {
    const [home, away] = [newQueue(), newQueue()];
    const batch = home.batch(FOLLOW_UPS);
    await batch.add('page', 1, { queue: away });
    await batch.add(home.name, 2);
    await batch.seal();
    expect(await runAll(home)).toEqual([home.name]);
    expect(await runAll(away)).toEqual(['page']);
    await maintainBatches(away);
    expect((await batch.results()).members).toMatchObject([
      { queue: away.name, status: 'completed', result: 1 },
      { queue: home.name, status: 'completed', result: 2 },
    ]);
    expect(await runAll(home)).toEqual(['last', 'then']);
  });

  it('listens to the signal of its progress only while that waits', async () => {
    const queue = newQueue();
    const batch = await batchOf(queue, 1);
    const { signal } = new AbortController();
    const progress = batch.progress({ everyMs: 50, signal });
    await progress.next();
    const next = progress.next();
    await eventually(() => getEventListeners(signal, 'abort').length === 1);
    await queue.complete((await queue.claim())!);
    expect((await next).value).toMatchObject({ open: 0 });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    await runAll(queue);
  });

  it('yields its progress after each change, until all members have ended', async () => {
    const queue = newQueue();
    const batch = await batchOf(queue, 2);
    const seen: string[] = [];
    for await (const { state, open, completed } of queue.findBatch(batch.id).progress({ everyMs: 50 })) {
      seen.push(`${state} ${open} ${completed}`);
      const job = await queue.claim();
      if (job) await queue.complete(job);
    }
    expect(seen).toEqual(['sealed 2 0', 'sealed 1 1', 'fired 0 2']);
    const again = [];
    for await (const { state } of batch.progress()) again.push(state);
    expect(again).toEqual(['fired']);
    const stop = new AbortController();
    const endless = queue.batch().progress({ everyMs: 50, signal: stop.signal });
    expect((await endless.next()).value).toMatchObject({ state: 'open', total: 0 });
    stop.abort(new Error('enough'));
    await expect(endless.next()).rejects.toThrow('enough');
    await expect(batch.progress({ everyMs: 1 }).next()).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(queue.findBatch('nobody').progress().next()).rejects.toThrow('nobody');
  });

  it.each([
    ['in a group whose rate lets one start a minute', { rateLimit: { limit: 1, periodMs: 60_000 } }, {}],
    ['behind a dead head that holds its group', { maxRunning: 1, onDeadHead: 'hold' as const }, {}],
    ['in a paused group', { maxRunning: 2 }, {}],
    ['with a priority', {}, { group: undefined, priority: 3 }],
    ['with a delay', {}, { delayMs: 3_600_000 }],
    ['in the plain line of a queue whose rate lets one start a minute', undefined, { group: undefined }],
  ])('with failFast ends at once the members that wait %s', async (_, limits: GroupLimits | undefined, options) => {
    const queue = newQueue();
    if (limits) await queue.groups.set('g', limits);
    else await queue.limits.set({ rateLimit: { limit: 1, periodMs: 60_000 } });
    const batch = queue.batch({ onFailure: { name: 'broke' }, failFast: true });
    await batch.add(queue.name, 'first', { group: 'g', maxAttempts: 1, ...options, delayMs: 0 });
    await batch.addMany(
      queue.name,
      Array.from({ length: 500 }, (__, payload) => ({ payload, group: 'g', maxAttempts: 1, ...options })),
    );
    await batch.seal();
    await queue.fail((await queue.claim())!, error, { final: true });
    if (limits?.maxRunning === 2) await queue.groups.pause('g');
    await maintainBatches(queue);
    expect(await batch.status()).toMatchObject({ state: 'fired', failed: 1, cancelled: 500, open: 0 });
    expect((await queue.stats()).totals.cancelled).toBe(500);
  });

  it('is cancelled with the members that run, at once: neither a sweep nor a heartbeat is needed', async () => {
    const queue = newQueue({ visibilityMs: 600_000 });
    const batch = queue.batch({ onFailure: { name: 'broke' } });
    await batch.addMany('slow', [{ payload: 1 }, { payload: 2 }]);
    await batch.seal();
    const handlers = { slow: untilAborted };
    const worker = await startWorker([{ queue, concurrency: 3, handlers }], undefined, { sweepIntervalMs: 0 });
    await worker.event('started', 2);
    expect(await batch.cancel()).toBe('stopped');
    await worker.event('cancelled', 2);
    expect(await batch.status()).toMatchObject({ state: 'fired', cancelled: 2, open: 0 });
  });

  it('with failFast cancels them soon after a worker failed one, without a sweep', async () => {
    const queue = newQueue();
    const batch = queue.batch({ onFailure: { name: 'broke' }, failFast: true });
    await batch.add('bad', 1, { maxAttempts: 1 });
    await batch.add('bad', 2, { maxAttempts: 1, delayMs: 3_600_000 });
    await batch.seal();
    const broke = new Promise((resolve) => {
      const handlers = { bad: () => Promise.reject(error), broke: resolve };
      void startWorker([{ queue, handlers }], undefined, { sweepIntervalMs: 0 });
    });
    await broke;
    expect(await batch.status()).toMatchObject({ stopped: true, failed: 1, cancelled: 1 });
  });

  it('with failFast cancels them soon after one met its last rest, without a sweep', async () => {
    const queue = newQueue({ maxRateLimitRetries: 1 });
    const batch = queue.batch({ onFailure: { name: 'broke' }, failFast: true });
    await batch.add('rests', 1);
    await batch.add('rests', 2, { delayMs: 3_600_000 });
    await batch.seal();
    const handlers = { rests: meetLimit, broke: () => 'told' };
    await startWorker([{ queue, handlers }], undefined, { sweepIntervalMs: 0 });
    await batch.wait({ timeoutMs: 10_000 });
    expect(await batch.status()).toMatchObject({ stopped: true, failed: 1, cancelled: 1 });
  });

  it.each([
    ['met its last rest', { rests: meetLimit }, {}],
    ['expired', { rests: handle }, { expiresInMs: 1 }],
  ])('gets the end of a member in another queue that %s, without a sweep', async (_, handlers, options) => {
    const [home, pages] = [newQueue(), newQueue({ maxRateLimitRetries: 1 })];
    const batch = home.batch({ onFailure: { name: 'broke' } });
    await batch.add('rests', 1, { queue: pages, ...options });
    await batch.seal();
    await sleep(5);
    await startWorker([{ queue: pages, handlers }], undefined, { sweepIntervalMs: 0 });
    await eventually(async () => (await batch.status())?.failed === 1);
  });

  it('counts members that were cancelled, removed and purged, and fires at its seal', async () => {
    const queue = newQueue();
    const batch = queue.batch(FOLLOW_UPS);
    const jobs = await batch.addMany(
      queue.name,
      [1, 2, 3].map((payload) => ({ payload })),
    );
    await queue.cancel(jobs[0]!.id);
    await queue.remove(jobs[1]!.id);
    await queue.purge({ confirm: queue.name });
    expect(await batch.status()).toMatchObject({ state: 'open', open: 0 });
    expect(await queue.claim()).toBeNull();
    await batch.seal();
    expect(await runAll(queue)).toEqual(['broke', 'last']);
    expect(await batch.status()).toMatchObject({ cancelled: 1, removed: 2 });
  });

  it('is run by a worker to its follow-up', async () => {
    const queue = newQueue();
    const worker = await startWorker([{ queue, handlers: { [queue.name]: handle, then: sum } }]);
    const batch = queue.batch({ then: { name: 'then' } });
    await batch.addMany(
      queue.name,
      [1, 2, 3].map((payload) => ({ payload })),
    );
    await batch.seal();
    await worker.event('completed', 4);
    expect(await queue.result(`@batch:${batch.id}:then`)).toBe(6);
  });
});

onEachStore('a job after others', () => {
  it('starts when the last of them has completed', async () => {
    const queue = newQueue();
    const [one, two] = [await queue.enqueue(1), await queue.enqueue(2)];
    const last = await queue.enqueue(3, { name: 'last', after: [one.id, two.id, one.id] });
    expect(await queue.get(last.id)).toMatchObject({ status: 'scheduled' });
    expect((await last.get())!.dueAt).toBeUndefined();
    const [first, second] = await queue.claimMany(10);
    await queue.complete(first!, 0);
    expect(await queue.claimMany(10)).toEqual([]);
    await queue.complete(second!, 0);
    expect(await runAll(queue)).toEqual(['last']);
  });

  it('stays cancelled where the one before it completes', async () => {
    const queue = newQueue();
    const one = await queue.enqueue(1);
    const two = await queue.enqueue(2, { after: [one.id] });
    await queue.cancel(two.id);
    await queue.complete((await queue.claim())!);
    expect(await queue.claim()).toBeNull();
    expect(await two.get()).toMatchObject({ status: 'cancelled' });
  });

  it('is a dead letter where the hash of the one before it is gone, whoever deleted it', async () => {
    const queue = newQueue();
    const one = await queue.enqueue(1);
    const two = await queue.enqueue(2, { after: [one.id] });
    await loseHash(queue, one.id);
    await maintainBatches(queue);
    expect(await two.get()).toMatchObject({ status: 'failed', lastError: expect.stringContaining('was deleted') });
    await queue.claim(); // sets the other aside
  });

  it('is set aside where its own hash is gone', async () => {
    const queue = newQueue();
    const one = await queue.enqueue(1, { delayMs: 60_000 });
    const two = await queue.enqueue(2, { after: [one.id] });
    await loseHash(queue, two.id);
    await maintainBatches(queue);
    expect(await queue.claim()).toBeNull();
    expect(await two.get()).toMatchObject({ status: 'failed' });
    expect((await queue.stats()).scheduled).toBe(1);
  });

  it('is refused after an unknown one and after a dead letter', async () => {
    const queue = newQueue();
    await expect(queue.enqueue(1, { after: ['nobody'] })).rejects.toThrow(InvalidOptionError);
    const dead = await queue.enqueue(1);
    await queue.fail((await queue.claim())!, error, { final: true });
    await expect(queue.enqueue(2, { after: [dead.id] })).rejects.toThrow('has not failed');
    const { id } = await queue.enqueue(3);
    await expect(queue.enqueue(4, { after: [id, dead.id] })).rejects.toThrow('has not failed'); // whichever it is
    expect(await queue.stats()).toMatchObject({ pending: 1, scheduled: 0 });
  });
});

onEachStore('close', () => {
  it('ends the waits for a batch and for its progress at once, and later ones', async () => {
    const queue = newQueue();
    const batch = await batchOf(queue, 1);
    const progress = batch.progress({ everyMs: 600_000 });
    expect((await progress.next()).value).toMatchObject({ open: 1 });
    const following = progress.next().catch((thrown: unknown) => thrown);
    const waiting = batch.wait({ timeoutMs: 600_000 }).catch((thrown: unknown) => thrown);
    await batch.status(); // both have read it by now
    queue.close();
    expect(await following).toBeInstanceOf(QueueClosedError);
    expect(await waiting).toBeInstanceOf(QueueClosedError);
    await expect(batch.wait()).rejects.toThrow(QueueClosedError);
    expect(await batch.status()).toMatchObject({ open: 1 });
  });
});

/** Adds members of a batch "b" in another queue. */
async function membersIn(there: JobQueue, count: number) {
  const home = newQueue();
  const batch = home.batch({ id: 'b' });
  const added = await batch.addMany(
    'page',
    Array.from({ length: count }, (_, payload) => ({ payload, maxAttempts: 1 })),
    { queue: there },
  );
  return { home, ids: added.map(({ id }) => id) };
}

onEachStore('a member of a batch in another queue', () => {
  it('reports its end with its result or error, and a removed one as removed', async () => {
    const there = newQueue();
    const { home, ids } = await membersIn(there, 4);
    const [first, second] = await there.claimMany(2);
    await there.complete(first!, { page: 1 });
    await there.fail(second!, error);
    await there.remove(ids[2]!);
    await loseHash(there, ids[2]!);
    const look = ids.map((id) => ({ batch: 'b', id }));
    const ends = await there.exec((calls) => calls.batches.ends({ home: home.name, members: look }));
    expect(ends.map(({ id, state, detail }) => [ids.indexOf(id), state, detail])).toEqual([
      [0, 'completed', '{"page":1}'],
      [1, 'failed', 'no ink'],
      [2, 'removed', ''],
    ]);
  });

  it('is no finding of the doctor, and not lost, while it waits', async () => {
    const there = newQueue();
    const { home } = await membersIn(there, 1);
    await home.findBatch('b').seal();
    expect((await home.doctor()).findings).toEqual([]);
    expect(await home.lostMembers()).toEqual([]);
  });
});

onEachStore('the follow-ups of a batch for another queue', () => {
  it('wait in the outbox, which is read in slices', async () => {
    const [home, there] = [newQueue(), newQueue()];
    const batch = home.batch({
      then: { name: 'then', queue: there.name },
      finally: { name: 'last', queue: there.name },
    });
    await batch.add('page', 1);
    await home.exec((calls) => calls.batches.seal({ id: batch.id }));
    const job = (await home.claim())!;
    await home.exec((calls) => calls.complete([{ ...job, result: sealed('1') }]));
    const read = (limit: number) => home.exec((calls) => calls.batches.outbox({ limit }));
    expect([(await read(1)).length, (await read(10)).length]).toEqual([1, 2]);
    expect(await home.exec((calls) => calls.batches.outbox({ limit: 10, except: [there.name] }))).toEqual([]);
    expect(await home.exec((calls) => calls.batches.outbox({ limit: 10, except: [home.name] }))).toHaveLength(2);
    await maintainBatches(home);
    expect([await read(10), (await there.stats()).pending]).toEqual([[], 2]);
  });
});
