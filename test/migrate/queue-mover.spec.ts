// The mover of a queue to another place: each kind of thing, and its death after each step.
import { describe, expect, it } from '@jest/globals';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { Source } from '#migrate/bullmq-source.js';
import { BullmqTarget } from '#migrate/to-bullmq.js';
import { BULLMQ, NewPlace, OldPlace } from '#migrate/queue/places.js';
import { MoverOvertakenError, type QueueMoveStep } from '#migrate/queue/transit.js';
import { redisWithAllKeys } from '#queue/redis-access.js';
import type { Redis } from 'ioredis';
import type { JobQueue } from '#queue/job-queue.js';
import { inside } from '../support/queue/inside.js';
import { idsIn, keysOfMove, queueScene } from '../support/migrate/queue-scene.js';

const HOUR = 3_600_000;

describe('a moved job', () => {
  it('keeps its order, priority, due time, options and attempts', async () => {
    const { from, to, run, report } = queueScene();
    await from.enqueue({ n: 1 }, { id: 'a', name: 'work', maxAttempts: 3, metadata: { trace: 'x' } });
    for (const id of ['b', 'c']) await from.enqueue({ n: 2 }, { id });
    await from.enqueue(0, { id: 'urgent', priority: 9 });
    await from.enqueue(0, { id: 'less', priority: 2 });
    const runAt = new Date(Date.now() + HOUR);
    await from.enqueue(0, { id: 'later', runAt });
    const before = await from.get('a');
    await run();
    expect(await idsIn(to)).toEqual(['urgent', 'less', 'a', 'b', 'c']);
    expect(await idsIn(to, 'scheduled')).toEqual(['later']);
    expect(await to.get('later')).toMatchObject({ dueAt: runAt });
    expect(await to.get('a')).toEqual(before);
    expect(report.moved).toEqual({ pending: 3, prioritized: 2, scheduled: 1 });
    expect(await idsIn(from)).toEqual([]);
    expect(await keysOfMove(from)).toEqual([]);
    expect((await from.stats()).pausedAt).not.toBeNull();
    expect((await to.stats()).pausedAt).toBeNull();
    expect(await to.claimMany(9)).toHaveLength(5);
  });

  it('leaves a record there by which a repeated enqueue adds nothing', async () => {
    const { from, run } = queueScene();
    await from.enqueue(1, { id: 'mine' });
    await run();
    expect((await from.enqueue(1, { id: 'mine' })).outcome).not.toBe('new');
    expect(await idsIn(from)).toEqual([]);
    expect(await from.get('mine')).toMatchObject({ status: 'cancelled', lastError: 'The job moved to elsewhere.' });
  });

  it('names the new place to a caller that waits for the result, and to one that sends a signal', async () => {
    const { from, to, run } = queueScene();
    await from.enqueue(1, { id: 'a' });
    await from.enqueue(1, { id: 'b' });
    await from.cancel('b');
    const claim = (await from.claim())!;
    await from.exec((calls) => calls.wait({ claim, name: 'approved', kind: 'signal' }));
    await from.exec((calls) => calls.release([{ ...claim, reason: 'wait', delayMs: 0 }]));
    await run();
    expect(await from.get('a')).toMatchObject({ movedTo: 'elsewhere' });
    await expect(from.result('a')).rejects.toMatchObject({
      code: 'JOB_CANCELLED',
      movedTo: 'elsewhere',
      message: 'Job a was cancelled: it moved to elsewhere. Ask there.',
    });
    await expect(from.signal('a', 'approved')).rejects.toMatchObject({
      reason: 'moved',
      message: expect.stringContaining('it moved to elsewhere. Signal it there.'),
    });
    await expect(from.signal('b', 'approved')).rejects.toMatchObject({ reason: 'ended' });
    expect(await to.signal('a', 'approved')).toBe('delivered');
  });

  it('keeps its fences growing', async () => {
    const { from, to, run } = queueScene();
    await from.enqueue(1, { id: 'a', maxAttempts: 5 });
    const first = (await from.claim())!;
    await from.fail(first, new Error('once'));
    await run();
    const second = (await to.claim())!;
    expect(second).toMatchObject({ id: 'a', attempt: 2 });
    expect(second.fence).toBeGreaterThan(first.fence);
  });

  it('that runs stays until it is settled, and then moves', async () => {
    const { from, to, run } = queueScene();
    await from.enqueue(1, { id: 'a', maxAttempts: 5 });
    await from.enqueue(1, { id: 'b' });
    const running = (await from.claim())!;
    await run();
    expect(await idsIn(to)).toEqual(['b']);
    await from.fail(running, new Error('again'));
    await run();
    expect(await idsIn(to)).toEqual(['b', 'a']);
  });

  it('whose id or unique key is in use there stays, and moves once that is over', async () => {
    const { from, to, run, report } = queueScene();
    await from.enqueue({ old: 1 }, { id: 'taken' });
    await from.enqueue({ old: 1 }, { id: 'second', unique: { key: 'key', for: 'unfinished' } });
    await to.enqueue({ new: 1 }, { id: 'taken' });
    await to.enqueue({ new: 1 }, { id: 'first', unique: { key: 'key', for: 'unfinished' } });
    await run();
    expect(await idsIn(from)).toEqual(['taken', 'second']);
    expect(report.left.map(({ ids }) => ids)).toEqual([['taken'], ['second']]);
    await to.remove('first');
    await run();
    expect(await idsIn(from)).toEqual(['taken']);
    expect((await to.get('taken'))?.payload).toEqual({ new: 1 });
    expect((await to.enqueue(1, { unique: { key: 'key', for: 'unfinished' } })).id).toBe('second');
  });

  it('of a dead letter keeps its error, its kind and its time, and is redriven there', async () => {
    const { from, to, run } = queueScene();
    await from.enqueue(1, { id: 'a', maxAttempts: 1 });
    await from.fail((await from.claim())!, new TypeError('no file'));
    const before = await from.get('a');
    await run();
    expect(await to.get('a')).toEqual(before);
    expect(await to.deadLetters.kinds()).toMatchObject([{ count: 1 }]);
    expect(await from.deadLetters.kinds()).toEqual([]);
    await to.deadLetters.redrive('a');
    expect(await to.claim()).toMatchObject({ id: 'a', attempt: 1 });
  });

  it('that has ended is copied with its result and the rest of its lifetime', async () => {
    const { from, to, run, report } = queueScene();
    await from.enqueue(1, { id: 'done', name: 'work' });
    await from.complete((await from.claim())!, { ok: true });
    await from.enqueue(1, { id: 'gone' });
    await from.cancel('gone');
    await run();
    expect(await to.get('done')).toEqual(await from.get('done'));
    expect(await idsIn(to, 'cancelled')).toEqual(['gone']);
    expect((await to.enqueue(1, { id: 'done' })).outcome).not.toBe('new');
    expect(report.moved).toEqual({});
  });
});

describe('groups', () => {
  it('keep their order, limits and pauses, and wait for their running job', async () => {
    const { from, to, run } = queueScene();
    await from.limits.set({ groups: { maxRunning: 1 } });
    await from.groups.set('b', { weight: 3 });
    await from.groups.pause('c', { by: 'ada' });
    for (const id of ['a1', 'a2', 'a3']) await from.enqueue(1, { id, group: 'a' });
    for (const id of ['b1', 'b2']) await from.enqueue(1, { id, group: 'b' });
    await from.enqueue(1, { id: 'c1', group: 'c' });
    const running = (await from.claim())!;
    await run();
    const group = running.id[0]!;
    expect(await idsIn(to)).toHaveLength(group === 'a' ? 3 : 4);
    await from.complete(running, null);
    await run();
    expect(await to.limits.get()).toMatchObject({ groups: { maxRunning: 1 } });
    expect((await to.groups.get('b')).limits).toMatchObject({ weight: 3 });
    expect((await to.groups.get('c')).pausedAt).not.toBeNull();
    const order: string[] = [];
    for (let job = await to.claim(); job; job = await to.claim()) {
      order.push(job.id);
      await to.complete(job, null);
    }
    expect(order.filter((id) => id.startsWith('a'))).toEqual(['a1', 'a2', 'a3'].filter((id) => id !== running.id));
    expect(order).not.toContain('c1');
  });

  it('stay held by a job that waits for its retry', async () => {
    const { from, to, run } = queueScene();
    await from.limits.set({ groups: { maxRunning: 1 } });
    await from.enqueue(1, { id: 'a1', group: 'a', maxAttempts: 3, backoff: { type: 'fixed', delayMs: HOUR } });
    await from.enqueue(1, { id: 'a2', group: 'a' });
    await from.fail((await from.claim())!, new Error('later'));
    await run();
    expect(await to.claim()).toBeNull();
    expect((await to.groups.get('a')).heldBy).toBe('a1');
    await to.promote('a1');
    expect(await to.claim()).toMatchObject({ id: 'a1' });
  });
});

async function sealedBatch(queue: JobQueue) {
  const batch = queue.batch({ then: { name: 'last', payload: 1 } });
  await batch.addMany(
    'part',
    [1, 2].map((n) => ({ payload: n, id: `p${n}` })),
  );
  await batch.seal();
  return batch;
}

/** Deletes a part of the copy of a batch, before the next command of the mover, which shares the connection. */
async function evictCopy(queue: JobQueue, part: string): Promise<void> {
  const { client } = inside(queue).connection as unknown as { client: Redis };
  const script = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end";
  await client.eval(script, 0, `moved:${queue.name}:moving:batch:*:${part}`);
}

describe('jobs that belong together', () => {
  it('a batch moves with its members, and fires once', async () => {
    const { from, to, run } = queueScene();
    const batch = from.batch({ then: { name: 'last', payload: { ok: true } } });
    await batch.addMany(
      'part',
      [1, 2, 3].map((n) => ({ payload: n, id: `p${n}` })),
    );
    await batch.seal();
    await from.complete((await from.claim())!, 'first');
    await run();
    expect(await idsIn(from)).toEqual([]);
    for (const job of await to.claimMany(9)) await to.complete(job, job.id);
    const last = (await to.claim())!;
    expect(last).toMatchObject({ name: 'last', payload: { ok: true } });
    expect(await to.claim()).toBeNull();
    await to.complete(last, null);
    expect(await to.findBatch(batch.id).status()).toMatchObject({ completed: 3, total: 3 });
    expect(await keysOfMove(from)).toEqual([]);
  });

  it.each(['', '/open', '/members'])(
    'copies a batch again if the new place has evicted its copy (%s)',
    async (part) => {
      const { from, to, mover } = queueScene();
      const batch = await sealedBatch(from);
      let evictions = 0;
      const evict = (step: QueueMoveStep) => {
        if (step === 'copy-batch' && evictions++ === 0) void evictCopy(to, `${batch.id}${part}`);
      };
      await (await mover(evict)).run();
      expect(evictions).toBe(2);
      for (const job of await to.claimMany(9)) await to.complete(job, job.id);
      expect(await to.claim()).toMatchObject({ name: 'last' });
      expect(await keysOfMove(from)).toEqual([]);
    },
  );

  it('stops with the reason if the new place evicts each copy, and the next mover goes on', async () => {
    const { from, to, mover, run } = queueScene();
    const batch = await sealedBatch(from);
    const evict = (step: QueueMoveStep) => step === 'copy-batch' && void evictCopy(to, batch.id);
    await expect((await mover(evict)).run()).rejects.toThrow(/evicted.*maxmemory/);
    await run();
    for (const job of await to.claimMany(9)) await to.complete(job, job.id);
    expect(await to.claim()).toMatchObject({ name: 'last' });
  });

  it('leaves only keys that expire where it dies in the middle of a copy', async () => {
    const { from, to, mover, run } = queueScene();
    const batch = await sealedBatch(from);
    const { client, keys } = await redisWithAllKeys(from);
    const members = `${keys.base}moving:batch:${batch.id}/members`;
    const breakMembers = async () => {
      void client.rename(members, `${members}/aside`);
      await client.set(members, 'no list');
    };
    const dying = await mover((step) => step === 'take-batch' && void breakMembers());
    await expect(dying.run()).rejects.toThrow(/WRONGTYPE/);
    const { client: there, keys: names } = await redisWithAllKeys(to);
    const copies = await keysOfMove(to);
    expect(copies).toHaveLength(2);
    for (const copy of copies) expect(await there.pttl(`${names.base}moving:${copy}`)).toBeGreaterThan(0);
    await client.rename(`${members}/aside`, members);
    await run();
    for (const job of await to.claimMany(9)) await to.complete(job, job.id);
    expect(await to.claim()).toMatchObject({ name: 'last' });
  });

  it('an open batch stays with its members until it is sealed', async () => {
    const { from, to, run, report } = queueScene();
    const batch = from.batch({ then: { name: 'last', payload: 1 } });
    await batch.add('part', 1, { id: 'p1' });
    await run();
    expect(await idsIn(to)).toEqual([]);
    expect(report.left.map(({ what }) => what).toSorted()).toEqual(['batch', 'job']);
    await batch.seal();
    await run();
    expect(await idsIn(to)).toEqual(['p1']);
  });

  it('jobs that wait for others move, and start after them', async () => {
    const { from, to, run } = queueScene();
    await from.enqueue(1, { id: 'n' });
    await from.enqueue(1, { id: 'w1', after: ['n'] });
    await from.enqueue(1, { id: 'w2', after: ['w1'] });
    await run();
    expect(await idsIn(to)).toEqual(['n']);
    for (const id of ['n', 'w1', 'w2']) {
      const job = (await to.claim())!;
      expect(job.id).toBe(id);
      await to.complete(job, id);
    }
    expect(await keysOfMove(from)).toEqual([]);
  });
});

describe('a job that waits for one that runs at the old place', () => {
  it('starts at the new place once that one has completed', async () => {
    const { from, to, run } = queueScene();
    await from.enqueue(1, { id: 'n' });
    await from.enqueue(1, { id: 'w', after: ['n'] });
    const running = (await from.claim())!;
    await run();
    await from.complete(running, 'done');
    await run();
    await maintainBatches(to);
    expect(await to.claim()).toMatchObject({ id: 'w' });
  });

  it('starts also if that one completes behind the copy of ended jobs, and before the check', async () => {
    const { from, to, run, mover, report } = queueScene();
    await from.enqueue(1, { id: 'dead', maxAttempts: 1 });
    await from.fail((await from.claim())!, new Error('no'));
    await from.enqueue(1, { id: 'n' });
    await from.enqueue(1, { id: 'w', after: ['n'] });
    const running = (await from.claim())!;
    let completed: Promise<unknown> | undefined;
    const late = await mover((step) => {
      // The dead letter goes last.
      if (step === 'acknowledge' && report.moved['dead']) completed ??= from.complete(running, 'done');
    });
    await late.run();
    await completed;
    await run();
    await maintainBatches(to);
    expect(await to.claim()).toMatchObject({ id: 'w' });
  });
});

describe('what belongs to a queue', () => {
  it('schedules go over with their ticks, and make none at the old place', async () => {
    const { from, to, run, report } = queueScene();
    await from.schedules.upsert(
      'nightly',
      { cron: '0 3 * * *', timeZone: 'UTC' },
      { name: 'work', payload: { x: 1 } },
    );
    const before = await from.schedules.get('nightly');
    await run();
    expect(await to.schedules.get('nightly')).toMatchObject({
      id: 'nightly',
      nextAt: before!.nextAt,
      payload: { x: 1 },
      pausedAt: null,
    });
    expect((await from.schedules.get('nightly'))?.pausedAt).not.toBeNull();
    expect(report.schedules).toEqual(['nightly']);
  });

  it('a pause of an operator goes over, and limits that are set there stay', async () => {
    const { from, to, run, report } = queueScene();
    await from.pause({ by: 'ada', reason: 'an incident' });
    await from.limits.set({ maxRunning: 2, rateLimit: { limit: 5, periodMs: 1_000 } });
    await run();
    expect((await to.limits.get()).maxRunning).toBe(2);
    expect(await to.stats()).toMatchObject({ pausedBy: 'ada', pauseReason: 'an incident' });
    expect(report.settings).toEqual(['limits', 'pause']);
    await to.limits.set({ maxRunning: 9 });
    await run();
    expect((await to.limits.get()).maxRunning).toBe(9);
  });

  it('a unique key of a time is held at both places', async () => {
    const { from, to, run } = queueScene();
    await from.enqueue(1, { id: 'a', unique: { key: 'k', for: { ms: HOUR } } });
    await from.complete((await from.claim())!, null);
    await from.enqueue(1, { id: 'b', unique: { key: 'k2', for: { ms: HOUR } } });
    await run();
    for (const queue of [from, to]) {
      expect((await queue.enqueue(1, { unique: { key: 'k', for: { ms: HOUR } } })).outcome).not.toBe('new');
      expect((await queue.enqueue(1, { unique: { key: 'k2', for: { ms: HOUR } } })).outcome).not.toBe('new');
    }
  });
});

describe('a mover that dies', () => {
  const steps: QueueMoveStep[] = [
    'begin',
    'take',
    'put',
    'give-back',
    'acknowledge',
    'forget',
    'take-schedule',
    'put-schedule',
    'take-batch',
    'copy-batch',
    'put-batch',
  ];

  it.each(steps)('after %s loses nothing, and doubles nothing', async (step) => {
    const { from, to, run, die } = queueScene();
    for (const id of ['a', 'b', 'c']) await from.enqueue(1, { id });
    await from.enqueue(1, { id: 'g1', group: 'g' });
    await from.enqueue(1, { id: 'n' });
    await from.enqueue(1, { id: 'w', after: ['n'] });
    await from.schedules.upsert('nightly', { cron: '0 3 * * *', timeZone: 'UTC' }, { name: 'work' });
    const batch = from.batch({ then: { name: 'last', payload: 1 } });
    await batch.addMany(
      'part',
      [1, 2].map((n) => ({ payload: n, id: `p${n}` })),
    );
    await batch.seal();
    await die((done) => done === step);
    const ran: string[] = [];
    const drain = async () => {
      for (let job = await to.claim(); job; job = await to.claim()) {
        ran.push(job.id);
        await to.complete(job, null);
      }
    };
    await drain(); // the jobs that are there may have run, and been forgotten, before the next mover begins
    await to.clean('completed');
    await run();
    await drain();
    const own = ran.filter((id) => !id.includes('@'));
    expect(own.toSorted()).toEqual(['a', 'b', 'c', 'g1', 'n', 'p1', 'p2', 'w']);
    expect(ran.length - own.length).toBe(1); // the follow-up
    expect((await to.schedules.list()).map(({ id }) => id)).toEqual(['nightly']);
    expect(await keysOfMove(from)).toEqual([]);
    expect(await idsIn(from)).toEqual([]);
  });

  it('is overtaken: the stalled one takes and adds nothing more', async () => {
    const { from, to, mover, run } = queueScene();
    await from.enqueue(1, { id: 'a' });
    let second: Promise<void> | undefined;
    const stalled = await mover((step) => {
      if (step === 'take' && !second) second = run();
    });
    await stalled.run().catch((error: unknown) => {
      if (!(error instanceof MoverOvertakenError)) throw error;
    });
    await second;
    expect(await idsIn(to)).toEqual(['a']);
    expect(await keysOfMove(from)).toEqual([]);
  });
});

it('goes there and back again', async () => {
  const { from, to, run, back } = queueScene();
  for (const id of ['a', 'b']) await from.enqueue(1, { id });
  await from.enqueue(1, { id: 'g', group: 'g' });
  await from.schedules.upsert('nightly', { cron: '0 3 * * *', timeZone: 'UTC' }, { name: 'work' });
  await run();
  await to.enqueue(1, { id: 'c' });
  await back();
  expect((await idsIn(from)).toSorted()).toEqual(['a', 'b', 'c', 'g']);
  expect(await idsIn(to)).toEqual([]);
  expect((await from.schedules.get('nightly'))?.pausedAt).toBeNull();
  expect(await from.claimMany(9)).toHaveLength(4);
  await run();
  expect(await from.claim()).toBeNull();
});

/** Returns a queue of BullMQ as the new place. */
const bullmqOf = ({ redis: client, prefix, queue: name }: Source, dropped: Record<string, number> = {}) =>
  new BullmqTarget({
    client,
    prefix,
    name,
    rules: { hasPriorities: false, maxAttempts: 10, handlerLimits: {}, dropGroups: false, nowMs: 0 },
    dropped,
    open: () => Promise.reject(new Error('The queue has no schedules.')),
  });

describe('a queue that went to BullMQ', () => {
  it('is taken back: not paused, without the schedules that went there, but never in the middle of its way', async () => {
    const { from } = queueScene();
    const target = await NewPlace.of(from);
    const { client, keys } = await redisWithAllKeys(from);
    const { right, wasPaused } = await (await OldPlace.of(from, `${BULLMQ}there`)).begin('test');
    expect(wasPaused).toBe(false);
    const there = new Source(client, 'bull', from.name);
    await bullmqOf(there).takeBack(right);
    for (const id of ['went', 'stayed']) await from.schedules.upsert(id, { everyMs: HOUR }, { name: 'work' });
    await client.hset(keys.schedule('went'), 'moved', '1');
    await client.zadd(`${keys.base}moving:order`, 1, 'on-its-way');
    await expect(target.takeBackFromBullmq(there)).rejects.toMatchObject({ code: 'UNFINISHED_MOVE' });
    expect((await from.stats()).pausedAt).not.toBeNull();
    await client.del(`${keys.base}moving:order`);
    await target.takeBackFromBullmq(there);
    expect((await from.stats()).pausedAt).toBeNull();
    expect((await from.schedules.list()).map(({ id }) => id)).toEqual(['stayed']);
    expect(await client.exists(`${keys.base}moving:state`)).toBe(0);
  });

  it('is not taken back by a mover of another queue', async () => {
    const { from } = queueScene();
    const { client, keys } = await redisWithAllKeys(from);
    const { right } = await (await OldPlace.of(from, `${BULLMQ}there`)).begin('test');
    await bullmqOf(new Source(client, 'bull', from.name)).takeBack(right);
    await from.schedules.upsert('went', { everyMs: HOUR }, { name: 'work' });
    await client.hset(keys.schedule('went'), 'moved', '1');
    await client.zadd(`${keys.base}moving:order`, 1, 'on-its-way');
    await (await NewPlace.of(from)).takeBackFromBullmq(new Source(client, 'bull', `other-${from.name}`));
    expect((await from.stats()).pausedAt).not.toBeNull();
    expect((await from.schedules.list()).map(({ id }) => id)).toEqual(['went']);
  });

  it('has no streams, waits and signals there, which are counted', async () => {
    const { from } = queueScene();
    const { client } = await redisWithAllKeys(from);
    const { right } = await (await OldPlace.of(from, `${BULLMQ}there`)).begin('test');
    const dropped: Record<string, number> = {};
    const fields = ['name', 'work', 'stream', '1', 'waits', '[]', 'signals', '[]'];
    const job = { id: 'a', entry: 'key\tpending\t0\t\t', fields, isText: true };
    expect(await bullmqOf(new Source(client, 'bull', from.name), dropped).put(right, [job])).toEqual(['new']);
    expect(dropped).toEqual({ stream: 1, waits: 1, signals: 1 });
  });

  it('leaves a job here that waits for a signal', async () => {
    const { from } = queueScene();
    const { client, keys } = await redisWithAllKeys(from);
    await from.enqueue(1, { id: 'a', name: 'work' });
    const claim = (await from.claim())!;
    await from.exec((calls) => calls.wait({ claim, name: 'approved', kind: 'signal' }));
    await from.exec((calls) => calls.release([{ ...claim, reason: 'wait', delayMs: 0 }]));
    const { right } = await (await OldPlace.of(from, `${BULLMQ}there`)).begin('test');
    const fields = Object.entries(await client.hgetall(keys.job('a'))).flat();
    const job = {
      id: 'a',
      entry: `key\tscheduled\t${await client.zscore(keys.scheduled, 'a')}\t\t`,
      fields,
      isText: true,
    };
    expect(await bullmqOf(new Source(client, 'bull', from.name)).put(right, [job])).toEqual(['signal']);
  });

  it('is not taken back from another place', async () => {
    const { from } = queueScene();
    const { right } = await (await OldPlace.of(from, 'elsewhere')).begin('test');
    const there = new Source((await redisWithAllKeys(from)).client, 'bull', from.name);
    await bullmqOf(there).takeBack(right);
    await (await NewPlace.of(from)).takeBackFromBullmq(there);
    expect((await from.stats()).pausedAt).not.toBeNull();
  });
});
