import { expect, it } from '@jest/globals';
import { coreQueue, sameQueue } from '../support/queue/core-queue.js';
import { keysLike } from '../support/redis/redis-reads.js';

it('takes a manual consumer of ten lines', async () => {
  const { queue } = coreQueue();
  const sent: unknown[] = [];
  await queue.enqueueMany([{ payload: { to: 'ada' } }, { payload: { to: 'bob' } }, { payload: { to: null } }]);

  for (let job = await queue.claim(); job; job = await queue.claim()) {
    try {
      const { to } = job.payload as { to: string | null };
      if (to === null) throw new TypeError('no address');
      sent.push(to);
      await queue.complete(job, { sent: true });
    } catch (error) {
      await queue.fail(job, error);
    }
  }

  expect(sent).toEqual(['ada', 'bob']);
  expect(await queue.stats()).toMatchObject({ completed: 2, failed: 1, pending: 0, processing: 0 });
  expect((await queue.list('failed'))[0]).toMatchObject({
    attempts: 3,
    errors: 3,
    lastError: 'no address',
    payload: { to: null },
  });
});

it('enqueues in order, in one step for the few jobs of one tick', async () => {
  const { queue, state } = coreQueue();
  const handles = await Promise.all(['a', 'b', 'c'].map((id) => queue.enqueue({ id }, { id })));
  expect(handles.map(({ id, outcome, name, queue: of }) => [id, outcome, name, of])).toEqual(
    ['a', 'b', 'c'].map((id) => [id, 'new', queue.name, queue.name]),
  );
  expect(await state.pending()).toEqual(['a', 'b', 'c']);
});

it('keeps the order of single enqueues of one tick, however many, and of those of a bulk between them', async () => {
  const { queue, state } = coreQueue();
  const single = (from: number) => Array.from({ length: 150 }, (_, i) => queue.enqueue(from + i));
  const added = [...single(0), queue.enqueueMany([{ payload: 150 }, { payload: 151 }]), ...single(152)];
  const ids = (await Promise.all(added)).flat().map((handle) => handle.id);
  expect(await state.pending()).toEqual(ids);
});

it('keeps it where the code that makes them pauses between, and in the next tick', async () => {
  const { queue, state } = coreQueue();
  const added: Promise<{ id: string }>[] = [];
  for (let i = 0; i < 120; i++) {
    added.push(queue.enqueue(i));
    if (i % 30 === 0) await Promise.resolve();
    if (i === 60) await new Promise((resolve) => setImmediate(resolve));
  }
  const ids = (await Promise.all(added)).map(({ id }) => id);
  expect(await state.pending()).toEqual(ids);
});

it('enqueues 2,500 jobs in slices and keeps their order', async () => {
  const { queue, state } = coreQueue();
  const handles = await queue.enqueueMany(Array.from({ length: 2_500 }, (_, i) => ({ payload: i })));
  expect(await state.pending()).toEqual(handles.map((handle) => handle.id));
  expect(await queue.enqueueMany([])).toEqual([]);
  expect(await queue.purge({ confirm: queue.name })).toBe(2_500);
});

it('gives a handle that can be logged, without its internals', async () => {
  const { queue } = coreQueue();
  const handle = await queue.enqueue(1, { id: 'a' });
  expect(JSON.parse(JSON.stringify(handle))).toEqual({
    id: 'a',
    name: queue.name,
    queue: queue.name,
    outcome: 'new',
  });
  expect(await handle.get()).toMatchObject({ id: 'a', status: 'pending', payload: 1 });
});

it('returns the existing job for an id in use and for a unique key', async () => {
  const { queue } = coreQueue();
  await queue.enqueue(1, { id: 'order-1' });
  expect(await queue.enqueue(2, { id: 'order-1' })).toMatchObject({ id: 'order-1', outcome: 'existing' });
  const unique = { key: 'k', for: 'unfinished' as const };
  const first = await queue.enqueue(1, { unique });
  expect(await queue.enqueue(2, { unique })).toMatchObject({ id: first.id, outcome: 'kept' });
  const replaced = await queue.enqueue(3, { unique: { ...unique, onConflict: 'replace' } });
  expect(replaced).toMatchObject({ id: first.id, outcome: 'replaced' });
  expect((await queue.get(first.id))!.payload).toBe(3);
});

it('claims a waiting job at once, and returns null where none waits', async () => {
  const { queue } = coreQueue();
  expect(await queue.claim()).toBeNull();
  await queue.enqueueMany([{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
  expect((await queue.claimMany(2)).map((job) => job.payload)).toEqual([1, 2]);
  expect((await queue.claimMany(2)).map((job) => job.payload)).toEqual([3]);
});

it('keeps the last batches of a consumer for repeats, and at most sixteen of them', async () => {
  const { queue, state } = coreQueue();
  await queue.enqueueMany(Array.from({ length: 20 }, (_, payload) => ({ payload })));
  for (let i = 0; i < 20; i++) await queue.claim();
  expect(await keysLike(state.redis, state.keys.batch('*'))).toHaveLength(16);
});

it('wakes a waiting claim when a job is enqueued', async () => {
  const { queue } = coreQueue();
  const waiting = queue.claim({ timeoutMs: 15_000 });
  await sameQueue(queue).enqueue('hello');
  expect((await waiting)!.payload).toBe('hello');
});

it('wakes a waiting claim when a scheduled job is due', async () => {
  const { queue } = coreQueue();
  await queue.enqueue(['later'], { delayMs: 300 });
  expect((await queue.claim({ timeoutMs: 15_000 }))!.payload).toEqual(['later']);
});

it('gives jobs of one claim the fences that their hashes have, each larger than the one before', async () => {
  const { queue } = coreQueue();
  await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload })));
  const jobs = await queue.claimMany(3);
  const kept = await Promise.all(jobs.map(async ({ id }) => (await queue.get(id))!.fence));
  expect(jobs.map(({ fence }) => fence)).toEqual(kept);
  expect(kept[1]! - kept[0]!).toBe(1);
  expect(kept[2]! - kept[1]!).toBe(1);
});

it('answers null when nothing came in the time given', async () => {
  const { queue } = coreQueue();
  const before = Date.now();
  expect(await queue.claim({ timeoutMs: 200 })).toBeNull();
  expect(Date.now() - before).toBeGreaterThanOrEqual(195);
});

it('ends a waiting claim when it is closed', async () => {
  const { queue } = coreQueue();
  const waiting = queue.claim({ timeoutMs: 60_000 });
  await queue.stats();
  await new Promise((resolve) => setImmediate(resolve));
  queue.close();
  expect(await waiting).toBeNull();
});

it('sets jobs aside that must not run, and hands out the next', async () => {
  const { queue, state } = coreQueue();
  await queue.enqueue(['bad'], { id: 'bad' });
  await queue.enqueue(['good'], { id: 'good' });
  await state.redis.hset(state.keys.job('bad'), 'payload', '{oops');
  expect((await queue.claim())!.id).toBe('good');
  expect(await queue.get('bad')).toMatchObject({ status: 'failed', brokenPayload: '{oops' });
  expect((await queue.get('bad'))!.lastError).toContain('payload is not JSON');
});

it('takes a failed job through backoff, release, extend and cancel', async () => {
  const { queue } = coreQueue({ backoff: 60_000 });
  await queue.enqueue(['a'], { id: 'a' });
  expect(await queue.fail((await queue.claim())!, new Error('no'))).toBe('retry');
  expect((await queue.get('a'))!.status).toBe('scheduled');
  expect(await queue.reschedule('a', { delayMs: 0 })).toBe('pending');
  const second = (await queue.claim())!;
  expect(second.attempt).toBe(2);
  expect(await queue.release(second)).toBe('released');
  const again = (await queue.claim())!;
  expect(again.attempt).toBe(2);
  expect(again.fence).toBeGreaterThan(second.fence);
  expect(await queue.extend(second)).toBe('lost');
  expect(await queue.extend(again)).toBe('extended');
  expect(await queue.cancel('a')).toBe('requested');
  expect(await queue.extend(again)).toBe('cancel-requested');
  expect(await queue.fail(again, 'stopped')).toBe('cancelled');
  expect(await queue.remove('a')).toBe('removed');
  expect(await queue.get('a')).toBeNull();
});

it('completes a job by its own keepResult and resultTtlMs', async () => {
  const { queue, state } = coreQueue();
  await queue.enqueue(1, { id: 'a', keepResult: false });
  await queue.enqueue(1, { id: 'b', resultTtlMs: 60_000 });
  for (const job of await queue.claimMany(2)) {
    expect(await queue.complete(job, 'done')).toBe(true);
  }
  expect((await queue.get('a'))!.result).toBeUndefined();
  expect((await queue.get('b'))!.result).toBe('done');
  expect(await state.redis.pttl(state.keys.job('b'))).toBeLessThanOrEqual(60_000);
});

it('I2: distinguishes a settle under a lost claim from one that counts', async () => {
  const { queue, state } = coreQueue();
  await queue.enqueue(['a'], { id: 'a' });
  const stale = (await queue.claim())!;
  await state.expireClaims('a');
  expect(await queue.reclaim()).toEqual({ reclaimed: [{ id: 'a', status: 'pending' }], more: false });
  const current = (await queue.claim())!;
  expect(await queue.complete(stale, 'stale')).toBe(false);
  expect(await queue.complete(current, 'current')).toBe(true);
  expect(await queue.complete(stale, 'stale')).toBe(false);
  expect(await queue.get('a')).toMatchObject({ status: 'completed', result: 'current', attempts: 2, crashes: 1 });
});

it('purges only with the name of the queue, and leaves other queues alone', async () => {
  const { queue } = coreQueue();
  const { queue: other } = coreQueue();
  await queue.enqueue(1);
  await other.enqueue(1);
  await expect(queue.purge({ confirm: 'jobs' })).rejects.toThrow(
    `purge confirm: expected the queue's name, "${queue.name}", found "jobs".`,
  );
  expect(await queue.purge({ confirm: queue.name })).toBe(1);
  expect((await other.stats()).pending).toBe(1);
});
