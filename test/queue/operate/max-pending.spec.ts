// The bounds of waiting jobs and payload bytes: an option, or set at run time for every producer.
import { expect, it } from '@jest/globals';
import { QueueFullError } from '#queue/errors/enqueue-errors.js';
import { JobQueue } from '#queue/job-queue.js';
import type { GroupsOptions } from '#queue/model/limits.js';
import { coreQueue } from '../../support/queue/core-queue.js';
import { newQueue, onEachStore } from '../../support/worker/workers.js';

const HOUR = 3_600_000;
/** Returns a payload with `bytes` bytes of JSON. */
const text = (bytes: number) => ({ t: 'x'.repeat(bytes - '{"t":""}'.length) });

onEachStore('maxPending', () => {
  it('of a queue refuses an enqueue beyond it, and takes the next once a job has left', async () => {
    const queue = newQueue({ maxPending: 2 });
    await queue.enqueue({ n: 1 }, { id: 'own' });
    await queue.enqueue({ n: 2 }, { delayMs: HOUR });
    const refused = await queue.enqueue({ n: 3 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(QueueFullError);
    expect(refused).toMatchObject({ queue: queue.name, group: undefined, limit: 2, unit: 'jobs' });
    expect((await queue.enqueue({ n: 1 }, { id: 'own' })).outcome).toBe('existing');
    await queue.claim();
    const jobs = [3, 4].map((payload) => ({ payload }));
    const second = await queue.enqueueMany(jobs).catch((error: unknown) => error);
    expect((second as QueueFullError).items.map(({ outcome }) => outcome)).toEqual(['new', 'not-sent']);
    expect(await queue.stats()).toMatchObject({ pending: 1, scheduled: 1 });
  });

  it('that is set at run time holds for a producer without a bound of its own, until it is cleared', async () => {
    const queue = newQueue();
    await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
    await queue.limits.set({ maxPending: 2 });
    expect(await queue.limits.get()).toEqual({ source: 'set', maxPending: 2 });
    for (const options of [{}, { priority: 1 }, { group: 'g' }]) {
      await expect(queue.enqueue(3, options)).rejects.toMatchObject({ name: 'QueueFullError', limit: 2 });
    }
    await queue.limits.clear();
    expect(await queue.limits.get()).toEqual({ source: 'none' });
    await queue.enqueue(3);
    await expect(queue.limits.set({ maxPending: 0 })).rejects.toThrow('limits.maxPending: expected a whole number');
  });

  it('of a group refuses that group alone', async () => {
    const queue = newQueue();
    await queue.groups.set('a', { maxPending: 1 });
    await queue.enqueue({}, { group: 'a' });
    const refused = { name: 'QueueFullError', group: 'a', limit: 1 };
    await expect(queue.enqueue({}, { group: 'a' })).rejects.toMatchObject(refused);
    await queue.enqueue({}, { group: 'b' });
    expect((await queue.stats()).pending).toBe(2);
  });

  it('of a group counts its jobs that wait for their time', async () => {
    const queue = newQueue();
    await queue.groups.set('g', { maxPending: 3 });
    await queue.enqueue(1, { group: 'g', delayMs: HOUR });
    await queue.enqueue(2, { group: 'g', runAt: new Date(Date.now() + HOUR) });
    const { id } = await queue.enqueue('before');
    await queue.enqueue(3, { group: 'g', after: [id] });
    await expect(queue.enqueue(4, { group: 'g' })).rejects.toMatchObject({ group: 'g', limit: 3, unit: 'jobs' });
    await expect(queue.enqueue(4, { group: 'g', delayMs: HOUR })).rejects.toThrow(QueueFullError);
    const [later] = await queue.list('scheduled');
    await queue.cancel(later!.id);
    await queue.enqueue(4, { group: 'g', delayMs: HOUR });
  });
});

onEachStore('a bound set at run time', () => {
  it.each([
    ['maxPending', 1],
    ['maxPendingBytes', 100],
  ] as const)(
    'takes the place of a smaller and of a larger %s of the producer, until it is cleared',
    async (bound, job) => {
      const queue = newQueue({ [bound]: 2 * job });
      await queue.limits.set({ [bound]: 3 * job });
      await queue.enqueueMany(Array.from({ length: 3 }, () => ({ payload: text(100) })));
      await expect(queue.enqueue(text(100))).rejects.toMatchObject({ limit: 3 * job });
      await queue.limits.set({ [bound]: job });
      await expect(queue.enqueue(text(100))).rejects.toMatchObject({ limit: job });
      await queue.limits.clear();
      await expect(queue.enqueue(text(100))).rejects.toMatchObject({ limit: 2 * job });
    },
  );
});

/** Enqueues jobs of 10 bytes until one is refused. Returns how many were taken. */
async function taken(queue: JobQueue, options = {}): Promise<number> {
  for (let count = 0; count < 20; count++) {
    const refused = await queue
      .enqueue(text(10), { group: 'g', ...options })
      .then(() => undefined)
      .catch((error: unknown) => error);
    if (refused) {
      expect(refused).toMatchObject({ name: 'QueueFullError', group: 'g' });
      return count;
    }
  }
  return 20;
}
/** Announces a worker whose code has these limits. */
const announce = (queue: JobQueue, groups: GroupsOptions) =>
  newQueue({ groups }, queue.store, queue.name).exec((calls) =>
    calls.workers.register({ worker: 'w', serves: true, handlers: [] }),
  );

onEachStore('a bound of each group in the code of a producer', () => {
  it.each<[string, GroupsOptions, (queue: JobQueue) => Promise<unknown>, taken: number]>([
    ['holds before any worker has run', { maxPending: 5 }, () => Promise.resolve(), 5],
    ['holds for bytes', { maxPendingBytes: 30 }, () => Promise.resolve(), 3],
    [
      'holds beside an override of another group',
      { maxPending: 5, overrides: { h: { maxPending: 9 } } },
      () => Promise.resolve(),
      5,
    ],
    ['yields to an override', { maxPending: 5, overrides: { g: { maxPending: 7 } } }, () => Promise.resolve(), 7],
    ['holds in place of that of a worker', { maxPending: 5 }, (queue) => announce(queue, { maxPending: 9 }), 5],
    ['is that of a worker where it has none', {}, (queue) => announce(queue, { maxPending: 9 }), 9],
    [
      'yields to one of all groups set at run time',
      { maxPending: 5 },
      (queue) => queue.limits.set({ groups: { maxPending: 3 } }),
      3,
    ],
    [
      'holds where others are set at run time',
      { maxPending: 5 },
      (queue) => queue.limits.set({ maxRunning: 3 }),
      5,
    ],
    ['yields to that of the group', { maxPending: 5 }, (queue) => queue.groups.set('g', { maxPending: 8 }), 8],
  ])('%s', async (_, groups, prepare, count) => {
    const queue = newQueue({ groups });
    await prepare(queue);
    expect(await taken(queue)).toBe(count);
  });

  it('counts delayed jobs, and those that take the place of another', async () => {
    const queue = newQueue({ groups: { maxPending: 3 } });
    expect(await taken(queue, { delayMs: HOUR })).toBe(3);
    const unique = { key: 'k', for: 'pending', onConflict: 'replace' } as const;
    await queue.enqueue(1, { group: 'h', unique });
    await expect(queue.enqueue(2, { group: 'g', unique })).rejects.toMatchObject({ group: 'g', limit: 3 });
  });
});

onEachStore('maxPending of a group', () => {
  it('counts a delayed job where a later one of its unique key puts it, and no more where it was', async () => {
    const queue = newQueue();
    for (const group of ['a', 'b']) await queue.groups.set(group, { maxPending: 1 });
    const unique = { key: 'k', for: 'pending', onConflict: 'replace' } as const;
    await queue.enqueue(1, { group: 'a', delayMs: HOUR, unique });
    const moved = await queue.enqueue(2, { group: 'b', delayMs: HOUR, unique });
    expect(moved.outcome).toBe('replaced');
    await expect(queue.enqueue(3, { group: 'b' })).rejects.toThrow(QueueFullError);
    await queue.enqueue(4, { group: 'a' });
    await expect(queue.enqueue(5, { group: 'a' })).rejects.toThrow(QueueFullError);
    await queue.enqueue(6, { group: 'b', delayMs: 2 * HOUR, unique }); // it stays the only one there
    await queue.enqueue(7, { unique });
    await queue.enqueue(8, { group: 'b' });
  });

  it('counts a job that was tried, once it is replaced by a delayed one', async () => {
    const queue = newQueue({ maxAttempts: 3 });
    await queue.groups.set('b', { maxPending: 1 });
    const unique = { key: 'k', for: 'unfinished', onConflict: 'replace' } as const;
    await queue.enqueue(1, { group: 'a', unique });
    await queue.fail((await queue.claim())!, new Error('no'), { delayMs: HOUR });
    expect((await queue.enqueue(2, { group: 'b', delayMs: HOUR, unique })).outcome).toBe('replaced');
    await expect(queue.enqueue(3, { group: 'b' })).rejects.toThrow(QueueFullError);
  });
});

onEachStore('maxPendingBytes', () => {
  it('of a queue refuses a payload that would exceed it, and takes a smaller one', async () => {
    const queue = newQueue({ maxPendingBytes: 1_000 });
    await queue.enqueue(text(600));
    const refused = await queue.enqueue(text(401)).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'QueueFullError', group: undefined, limit: 1_000, unit: 'bytes' });
    expect((refused as Error).message).toContain('at most 1000 bytes of waiting payloads');
    await queue.enqueue(text(400), { delayMs: HOUR });
    await queue.claim();
    await queue.enqueue(text(600), { group: 'g' });
  });

  it('set at run time holds for all producers, and says of many jobs which were added', async () => {
    const queue = newQueue();
    await queue.limits.set({ maxPendingBytes: 1_000 });
    expect(await queue.limits.get()).toEqual({ source: 'set', maxPendingBytes: 1_000 });
    const jobs = [400, 400, 400, 200].map((bytes) => ({ payload: text(bytes) }));
    const refused = await queue.enqueueMany(jobs).catch((error: unknown) => error);
    expect((refused as QueueFullError).items.map(({ outcome }) => outcome)).toEqual([
      'new',
      'new',
      'not-sent',
      'new',
    ]);
  });

  it('of a group bounds its line, and no other', async () => {
    const queue = newQueue({ groups: { maxPendingBytes: 1_000 } });
    await queue.groups.set('g', { maxPendingBytes: 500 });
    expect((await queue.groups.get('g')).limits).toMatchObject({ maxPendingBytes: 500 });
    await queue.enqueue(text(400), { group: 'g' });
    await expect(queue.enqueue(text(200), { group: 'g' })).rejects.toMatchObject({ group: 'g', unit: 'bytes' });
    await queue.enqueue(text(500), { group: 'h' });
  });
});

it('maxPendingBytes of a long line is estimated from fifty jobs of each place', async () => {
  const { queue } = coreQueue();
  const many = (of: object) => Array.from({ length: 200 }, () => ({ payload: text(100), ...of }));
  await queue.enqueueMany([
    ...many({}),
    ...many({ priority: 1 }),
    ...many({ delayMs: HOUR }),
    ...many({ group: 'g' }),
  ]);
  await queue.limits.set({ maxPendingBytes: 80_100 });
  await queue.enqueue(text(100));
  await expect(queue.enqueue(text(100))).rejects.toThrow(QueueFullError);
  await queue.claimMany(1);
  await queue.enqueue(text(100));
});

it('maxPending set at run time holds for a producer of another process, and for one that waits for replicas', async () => {
  const { queue, state } = coreQueue();
  await queue.limits.set({ maxPending: 1 });
  const other = new JobQueue(state.redis, queue.name);
  await other.enqueueMany([{ payload: 1 }]);
  await expect(other.enqueue(2)).rejects.toThrow(QueueFullError);
  await expect(other.enqueue(2, { durability: 'replica' })).rejects.toThrow(QueueFullError);
  other.close();
});
