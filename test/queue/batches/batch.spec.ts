// Batches with a follow-up, members of one queue. The second part is the list of traps that batches of other queues fell into.
import { describe, expect, it } from '@jest/globals';
import type { Batch } from '#queue/batches/batch.js';
import { JobQueue } from '#queue/job-queue.js';
import {
  BatchNotFoundError,
  BatchSealedError,
  BatchTimeoutError,
  InvalidOptionError,
} from '#queue/errors/errors.js';
import type { BatchMember } from '#queue/model/batch.js';
import type { ClaimedJob } from '#queue/model/job.js';
import type { BatchOptions } from '#queue/batches/batch-options.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import type { Job } from '#worker/handlers/job.js';
import { coreQueue, sameQueue } from '../../support/queue/core-queue.js';
import { inside } from '../../support/queue/inside.js';
import { keysLike } from '../../support/redis/redis-reads.js';
import { newQueue, startWorker } from '../../support/worker/workers.js';

const FOLLOW_UPS: BatchOptions = {
  then: { name: 'then' },
  onFailure: { name: 'broke' },
  finally: { name: 'last' },
};

/** Makes a sealed batch of `count` members, all claimed. */
async function claimedBatch(queue: JobQueue, count: number, options: BatchOptions = FOLLOW_UPS) {
  const batch = queue.batch(options);
  const jobs = Array.from({ length: count }, (_, i) => ({ payload: i, maxAttempts: 1 }));
  await batch.addMany(queue.name, jobs);
  await batch.seal();
  return { batch, claims: await queue.claimMany(count) };
}

/** Returns the names of the follow-ups in the queue; each has its fixed id. */
async function followUps(queue: JobQueue, { id }: Batch<never> | Batch<JobQueue>): Promise<string[]> {
  const kinds = ['then', 'on_failure', 'finally'];
  const found = await Promise.all(kinds.map((kind) => queue.get(`@batch:${id}:${kind}`)));
  const { enqueued = 0 } = (await queue.stats()).totals;
  expect(enqueued).toBeGreaterThanOrEqual(found.filter(Boolean).length);
  return found.flatMap((job) => (job ? [job.name] : []));
}

const fail = (queue: JobQueue, claim: ClaimedJob) => queue.fail(claim, new Error('no ink'), { final: true });

describe('a batch', () => {
  it('hands the follow-up the outcomes of the members, in the order in which they joined, page by page', async () => {
    const queue = newQueue();
    const seen: BatchMember[] = [];
    const handle = async (job: Job<number>) => {
      if (job.name === 'then') {
        for await (const member of job.batch!.members<number>()) seen.push(member);
        return job.batch!.status();
      }
      expect(job.batch!.id).toBe(batch.id);
      return job.payload * 2;
    };
    const handlers = { [queue.name]: handle, then: handle };
    const worker = await startWorker([{ queue, handlers, concurrency: 4 }]);
    const batch = queue.batch({ then: { name: 'then', payload: { month: 5 } } });
    const handles = await batch.addMany(
      queue.name,
      Array.from({ length: 1_200 }, (_, payload) => ({ payload })),
    );
    await batch.seal();
    const { firedAt } = await batch.wait();
    expect(firedAt).toBeInstanceOf(Date);
    expect(await queue.result(`@batch:${batch.id}:then`)).toMatchObject({ state: 'fired', total: 1_200 });
    const expected = handles.map(({ id }, i) => ({ id, queue: queue.name, status: 'completed', result: 2 * i }));
    expect(seen).toEqual(expected);
    expect(await batch.results({ offset: 1_199, limit: 10 })).toEqual({ members: expected.slice(1_199) });
    expect((await batch.results({ limit: 2 })).next).toBe(2);
    await worker.worker.stop();
  });

  it('gives the follow-up its own payload, or the id of the batch, and its options', async () => {
    const { queue, state } = coreQueue();
    const batch = queue.batch({
      then: { name: 'a', payload: [1], priority: 7, maxAttempts: 9, metadata: { trace: 't' }, delayMs: 60_000 },
      finally: { name: 'b' },
    });
    await batch.seal();
    const job = await queue.get(`@batch:${batch.id}:then`);
    expect(job).toMatchObject({ name: 'a', payload: [1], priority: 7, maxAttempts: 9, metadata: { trace: 't' } });
    expect(job!.dueAt!.getTime() - (await state.now())).toBeGreaterThan(50_000);
    expect(await queue.claimMany(5)).toMatchObject([{ name: 'b', payload: { batchId: batch.id } }]);
  });

  it('ends when its follow-ups have ended: the outcomes then have an end, the record lives for a week', async () => {
    const { queue, state } = coreQueue();
    const { batch, claims } = await claimedBatch(queue, 1, { ...FOLLOW_UPS, resultTtlMs: 50_000 });
    await queue.complete(claims[0]!, 'ok');
    const [then, last] = await queue.claimMany(5);
    await queue.complete(then!);
    const { keys, redis } = state;
    expect((await batch.status()).state).toBe('fired');
    expect(await redis.pttl(keys.batchRecord(batch.id, 'outcomes'))).toBe(-1);
    await queue.complete(last!);
    expect((await batch.status()).state).toBe('ended');
    expect(await redis.pttl(keys.batchRecord(batch.id, 'outcomes'))).toBeLessThanOrEqual(50_000);
    expect(await redis.pttl(keys.batchRecord(batch.id))).toBeGreaterThan(6 * 86_400_000);
    expect(await redis.exists(keys.batches, keys.batchRecord(batch.id, 'open'))).toBe(0);
  });

  it('keeps the outcomes while its follow-up is a dead letter, and for its redrive', async () => {
    const { queue, state } = coreQueue();
    const { batch, claims } = await claimedBatch(queue, 1, { then: { name: 'then' } });
    await queue.complete(claims[0]!, 'ok');
    await fail(queue, (await queue.claim())!);
    await maintainBatches(queue, { all: true });
    expect((await batch.status()).state).toBe('fired');
    await queue.deadLetters.redriveMany([`@batch:${batch.id}:then`]);
    expect((await batch.results()).members).toMatchObject([{ status: 'completed', result: 'ok' }]);
    await queue.complete((await queue.claim())!);
    expect((await batch.status()).state).toBe('ended');
    expect(await state.redis.pttl(state.keys.batchRecord(batch.id, 'members'))).toBeGreaterThan(0);
  });

  it('ends where its follow-up is discarded', async () => {
    const { queue } = coreQueue();
    const { batch, claims } = await claimedBatch(queue, 1, { then: { name: 'then' } });
    await queue.complete(claims[0]!, 'ok');
    await fail(queue, (await queue.claim())!);
    await queue.deadLetters.discard(`@batch:${batch.id}:then`);
    await maintainBatches(queue, { all: true });
    expect((await batch.status()).state).toBe('ended');
  });

  it('can be found by its id, filled and sealed by another process', async () => {
    const { queue } = coreQueue();
    const id = `import-${Date.now()}`;
    const batch = queue.batch({ id, then: { name: 'then' } });
    await batch.add('page', 1);
    const other = sameQueue(queue).findBatch(id);
    await other.add('page', 2);
    await other.seal();
    await expect(batch.add('page', 3)).rejects.toThrow(BatchSealedError);
    expect(await queue.batch({ id, then: { name: 'another' } }).status()).toMatchObject({ total: 2, open: 2 });
    for (const claim of await queue.claimMany(5)) await queue.complete(claim);
    expect(await followUps(queue, batch)).toEqual(['then']);
  });

  it('refuses a value that is no batch, no follow-up and no member, and writes nothing', async () => {
    const { queue, state } = coreQueue();
    const refused = (options: object) => expect(() => queue.batch(options)).toThrow(InvalidOptionError);
    refused({ than: {} });
    refused({ then: 'report' });
    refused({ then: { id: 'x' } });
    refused({ then: { unique: { key: 'k', for: 'pending' } } });
    refused({ then: { maxAttempts: 0 } });
    refused({ failFast: 'yes' });
    refused({ id: 'a\tb' });
    refused({ id: '@batch:a' });
    const batch = queue.batch();
    await expect(batch.add('a', 1, { unique: { key: 'k' } } as never)).rejects.toThrow(InvalidOptionError);
    await expect(queue.findBatch('nobody').add('a', 1)).rejects.toThrow(BatchNotFoundError);
    await expect(queue.findBatch('nobody').status()).rejects.toThrow(BatchNotFoundError);
    await expect(batch.results({ limit: 1_001 })).rejects.toThrow(InvalidOptionError);
    await expect(queue.enqueue(1, { id: '@batch:a:then' })).rejects.toThrow(InvalidOptionError);
    expect(await keysLike(state.redis, `queue:${queue.name}:*`)).toEqual([]);
  });

  it('refuses the id of a job that is no member, and takes that of its own member as a repeat', async () => {
    const { queue } = coreQueue();
    await queue.enqueue(1, { id: 'stranger' });
    const batch = queue.batch();
    await batch.add(queue.name, 1, { id: 'mine' });
    await batch.add(queue.name, 1, { id: 'mine' });
    await expect(batch.add(queue.name, 1, { id: 'stranger' })).rejects.toThrow(InvalidOptionError);
    expect(await batch.status()).toMatchObject({ total: 1, open: 1 });
  });

  it('can be waited for, by a limit and by a signal', async () => {
    const { queue } = coreQueue();
    const { batch } = await claimedBatch(queue, 1);
    await expect(batch.wait({ timeoutMs: 1 })).rejects.toThrow(BatchTimeoutError);
    await expect(batch.wait({ signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
  });

  it('with failFast cancels the other members: those that run, that wait, and that are added later', async () => {
    const { queue } = coreQueue();
    const batch = queue.batch({ ...FOLLOW_UPS, failFast: true });
    const add = (payload: string, options = {}) => batch.add(queue.name, payload, { maxAttempts: 1, ...options });
    await add('bad');
    await add('runs');
    const waits = [
      await add('waits'),
      await add('later', { delayMs: 60_000 }),
      await add('urgent', { priority: 3 }),
    ];
    const [urgent, bad, runs] = await queue.claimMany(3);
    expect([urgent!.payload, bad!.payload, runs!.payload]).toEqual(['urgent', 'bad', 'runs']);
    await fail(queue, bad!);
    await maintainBatches(queue);
    expect(await queue.extend(runs!)).toBe('cancel-requested');
    const late = await add('late');
    await batch.seal();
    await fail(queue, runs!);
    await fail(queue, urgent!);
    const next = await queue.claimMany(10); // ends those that wait
    expect(next.map(({ name }) => name).toSorted()).toEqual(['broke', 'last']);
    const statuses = await Promise.all(
      [waits[0]!, waits[1]!, late].map(async ({ id }) => (await queue.get(id))!.status),
    );
    expect(statuses).toEqual(['cancelled', 'cancelled', 'cancelled']);
    expect(await batch.status()).toMatchObject({ stopped: true, total: 6, failed: 1, cancelled: 5 });
  });

  it('can be cancelled as a whole', async () => {
    const { queue } = coreQueue();
    const batch = queue.batch(FOLLOW_UPS);
    await batch.addMany(
      'page',
      Array.from({ length: 700 }, (_, payload) => ({ payload })),
    );
    await batch.seal();
    expect(await batch.cancel()).toBe('stopped');
    const next = await queue.claimMany(1_000);
    expect(next.map(({ name }) => name).toSorted()).toEqual(['broke', 'last']);
    expect(await followUps(queue, batch)).toEqual(['broke', 'last']);
    expect(await batch.status()).toMatchObject({ state: 'fired', cancelled: 700 });
    expect(await batch.cancel()).toBe('fired');
  });

  it('leaves nothing of a batch that was not sealed for a week', async () => {
    const { queue, state } = coreQueue();
    const batch = queue.batch();
    await batch.add('page', 1);
    await state.redis.hset(state.keys.batchRecord(batch.id), 'created_at_ms', 1);
    await maintainBatches(queue, { all: true });
    await expect(batch.status()).rejects.toThrow(BatchNotFoundError);
    await queue.complete((await queue.claim())!);
    expect(await keysLike(state.redis, `queue:${queue.name}:batch_*`)).toEqual([]);
  });

  it('counts as unfinished while it is not fired, whatever runs beside it: a plain job knows nothing of it', async () => {
    const { queue } = coreQueue();
    const batch = queue.batch(FOLLOW_UPS);
    await batch.add(queue.name, 1);
    await batch.seal();
    await queue.enqueue(2);
    const [member, plain] = await queue.claimMany(2);
    expect([member!.plain, plain!.plain]).toEqual([false, true]);
    await queue.complete(plain!);
    expect((await batch.status()).open).toBe(1);
    await queue.complete(member!);
    expect((await batch.status()).state).toBe('fired');
  });
});

describe('the traps of others', () => {
  it('BullMQ #800, #3122: a parent waits forever when a child fails', async () => {
    const { queue } = coreQueue();
    const { batch, claims } = await claimedBatch(queue, 2);
    for (const claim of claims) await fail(queue, claim);
    expect(await followUps(queue, batch)).toEqual(['broke', 'last']);
  });

  it('BullMQ #2464, Sidekiq #6234: a member whose worker dies, up to a dead letter, ends', async () => {
    const { queue, state } = coreQueue({ maxCrashes: 1 });
    const { batch, claims } = await claimedBatch(queue, 1);
    await state.expireClaims(claims[0]!.id);
    await queue.reclaim();
    expect((await queue.get(claims[0]!.id))!.status).toBe('failed');
    expect(await followUps(queue, batch)).toEqual(['broke', 'last']);
  });

  it('BullMQ #2464: a member whose worker died runs again, and the batch waits for it', async () => {
    const { queue, state } = coreQueue();
    const batch = queue.batch(FOLLOW_UPS);
    await batch.add(queue.name, 1);
    await batch.seal();
    const claim = (await queue.claim())!;
    await state.expireClaims(claim.id);
    await queue.reclaim();
    expect(await followUps(queue, batch)).toEqual([]);
    await queue.complete((await queue.claim())!);
    expect(await followUps(queue, batch)).toEqual(['then', 'last']);
    expect(await queue.complete(claim)).toBe(false);
    expect(await batch.status()).toMatchObject({ completed: 1, total: 1 });
  });

  it('Sidekiq #4361: an end that is reported twice is one end, and no number goes below zero', async () => {
    const { queue } = coreQueue();
    const { batch, claims } = await claimedBatch(queue, 2);
    const [first, second] = claims;
    for (let i = 0; i < 3; i++) expect(await queue.complete(first!, 1)).toBe(true);
    expect(await batch.status()).toMatchObject({ open: 1, completed: 1 });
    for (let i = 0; i < 3; i++) await fail(queue, second!);
    expect(await batch.status()).toMatchObject({ open: 0, completed: 1, failed: 1 });
    expect((await queue.stats()).totals.enqueued).toBe(4);
  });

  it('Sidekiq: an empty batch fires at its seal, once', async () => {
    const { queue } = coreQueue();
    const batch = queue.batch(FOLLOW_UPS);
    await batch.seal();
    await batch.seal();
    expect(await followUps(queue, batch)).toEqual(['then', 'last']);
    expect((await queue.stats()).totals.enqueued).toBe(2);
  });

  it('Celery #3363: a follow-up is not lost when the one who would have started it dies: the end enqueues it', async () => {
    const { queue } = coreQueue();
    const { batch, claims } = await claimedBatch(queue, 1);
    const { scripts, run } = inside(queue);
    await run((await scripts()).complete([{ ...claims[0]!, result: '' }])); // and nothing after it
    expect(await followUps(queue, batch)).toEqual(['then', 'last']);
  });

  it('Celery #3538: a follow-up that has its own batch fires each once', async () => {
    const { queue } = coreQueue();
    const { batch, claims } = await claimedBatch(queue, 1, { then: { name: 'then' } });
    await queue.complete(claims[0]!);
    const follow = (await queue.claim())!;
    const nested = queue.batch({ then: { name: 'nested' } });
    await nested.add(queue.name, 'x');
    await nested.seal();
    await queue.complete(follow);
    await queue.complete((await queue.claim())!);
    expect(await followUps(queue, nested)).toEqual(['nested']);
    expect((await batch.status()).state).toBe('ended');
    expect((await queue.stats()).totals.enqueued).toBe(4);
  });

  it('a completed follow-up whose hash has gone is not enqueued again by a repeat', async () => {
    const { queue, state } = coreQueue();
    const { batch, claims } = await claimedBatch(queue, 1);
    await queue.complete(claims[0]!);
    for (const claim of await queue.claimMany(5)) await queue.complete(claim);
    await state.redis.del(state.keys.job(`@batch:${batch.id}:then`), state.keys.job(`@batch:${batch.id}:finally`));
    await queue.complete(claims[0]!);
    await batch.seal();
    await maintainBatches(queue, { all: true });
    expect(await followUps(queue, batch)).toEqual([]);
    expect((await queue.stats()).totals.enqueued).toBe(3);
  });

  it.each([
    ['cancelled', async (queue: JobQueue, id: string) => void (await queue.cancel(id))],
    ['removed', async (queue: JobQueue, id: string) => void (await queue.remove(id))],
    ['removed', async (queue: JobQueue) => void (await queue.clean('pending'))],
    ['removed', async (queue: JobQueue) => void (await queue.purge({ confirm: queue.name }))],
  ])('a member that is %s counts as an end (%#)', async (status, end) => {
    const { queue } = coreQueue();
    const batch = queue.batch(FOLLOW_UPS);
    const { id } = await batch.add(queue.name, 1);
    await batch.seal();
    await end(queue, id);
    expect(await followUps(queue, batch)).toEqual(['broke', 'last']);
    expect(await batch.status()).toMatchObject({ [status]: 1, open: 0 });
    expect((await batch.results()).members).toEqual([{ id, queue: queue.name, status }]);
    await maintainBatches(queue, { all: true });
    expect((await queue.stats()).totals.enqueued).toBe(3);
  });

  it('a member that expires counts as an end', async () => {
    const { queue, state } = coreQueue();
    const batch = queue.batch(FOLLOW_UPS);
    const { id } = await batch.add(queue.name, 1, { expiresInMs: 60_000 });
    await batch.seal();
    await state.redis.hset(state.keys.job(id), 'expires_at_ms', 1);
    expect((await queue.claimMany(5)).map(({ name }) => name).toSorted()).toEqual(['broke', 'last']);
    expect((await batch.results()).members).toMatchObject([
      { status: 'failed', error: expect.stringContaining('expiresInMs') },
    ]);
  });

  it('a member whose hash is gone counts as an end, once the sweep finds it', async () => {
    const { queue, state } = coreQueue();
    const { batch, claims } = await claimedBatch(queue, 1);
    await state.redis.del(state.keys.job(claims[0]!.id));
    await state.redis.zrem(state.keys.claims, claims[0]!.id);
    await maintainBatches(queue, { all: true });
    await maintainBatches(queue, { all: true });
    expect(await followUps(queue, batch)).toEqual(['broke', 'last']);
    expect(await batch.status()).toMatchObject({ removed: 1 });
  });

  it('members that clients of the Redis pattern complete and fail end, once the sweep finds them', async () => {
    const { queue, state } = coreQueue();
    const batch = queue.batch(FOLLOW_UPS);
    const [good, bad] = await batch.addMany(queue.name, [{ payload: 1 }, { payload: 2 }]);
    await batch.seal();
    const { redis, keys } = state;
    await redis.lrem(keys.pending, 0, good!.id);
    await redis.lrem(keys.pending, 0, bad!.id);
    await redis.hset(keys.job(good!.id), { status: 'completed', result: '"done"', completed_at_ms: 5 });
    await redis.pexpire(keys.job(good!.id), 60_000);
    await redis.hset(keys.job(bad!.id), { status: 'failed', last_error: 'no ink' });
    await redis.lpush(keys.completed, good!.id);
    await redis.lpush(keys.failed, bad!.id);
    await queue.reclaim();
    await maintainBatches(queue, { all: true });
    expect(await followUps(queue, batch)).toEqual(['broke', 'last']);
    expect((await batch.results()).members).toMatchObject([
      { status: 'completed', result: 'done' },
      { status: 'failed', error: 'no ink' },
    ]);
  });

  it('an unsealed batch with ends of every kind fires once, at the seal', async () => {
    const { queue } = coreQueue();
    const batch = queue.batch(FOLLOW_UPS);
    await batch.addMany(queue.name, [{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
    const [a, b] = await queue.claimMany(2);
    await queue.complete(a!);
    await queue.release(b!);
    await queue.clean('pending');
    expect(await followUps(queue, batch)).toEqual([]);
    await batch.seal();
    expect(await batch.status()).toMatchObject({ state: 'fired', completed: 1, removed: 2 });
  });

  it('is looked at in slices, a thousand members in bounded steps', async () => {
    const { queue, state } = coreQueue();
    const batch = queue.batch(FOLLOW_UPS);
    await batch.addMany(
      queue.name,
      Array.from({ length: 1_000 }, (_, payload) => ({ payload })),
    );
    await batch.seal();
    const { scripts, run } = inside(queue);
    const ids = (await batch.results({ limit: 1_000 })).members.map(({ id }) => state.keys.job(id));
    await state.redis.del(...ids);
    await state.redis.del(state.keys.pending);
    expect(await run((await scripts()).sweep.maintainBatches({ limit: 100, all: true }))).toMatchObject({
      more: true,
    });
    expect(await batch.status()).toMatchObject({ removed: 100, open: 900 });
    await maintainBatches(queue);
    expect(await followUps(queue, batch)).toEqual(['broke', 'last']);
  });
});
