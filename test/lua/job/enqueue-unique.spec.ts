import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, testQueue, type TestQueue, claimedJob } from '../../support/queue/queue-state.js';

const pendingKey = { unique: 'k', unique_for: 'pending' };
const unfinishedKey = { unique: 'k', unique_for: 'unfinished' };
const windowKey = { unique: 'k', unique_for: 60_000 };

describe('job/enqueue.lua: unique keys', () => {
  it.each([
    ['pending', pendingKey],
    ['unfinished', unfinishedKey],
    ['a time', windowKey],
  ])('held for %s: the waiting job stays', async (_for, key) => {
    const q = testQueue();
    expect(await q.add('a', key)).toEqual({ id: 'a', outcome: 'new' });
    const answer = await expectUnchanged(q, () => q.add('b', key));
    expect(answer).toEqual({ id: 'a', outcome: 'kept' });
  });

  it('held for pending: free as soon as the job is claimed', async () => {
    const q = testQueue();
    await q.addAndClaim('a', pendingKey);
    expect(await q.add('b', pendingKey)).toEqual({ id: 'b', outcome: 'new' });
    expect(await q.redis.hget(q.keys.unique, 'k')).toBe('b');
  });

  it('held for unfinished: kept while the job runs, free once it has ended', async () => {
    const { q, job } = await claimedJob('a', unfinishedKey);
    expect(await q.add('b', unfinishedKey)).toEqual({ id: 'a', outcome: 'kept' });
    await q.complete(job);
    expect(await q.redis.hexists(q.keys.unique, 'k')).toBe(0);
    expect(await q.add('b', unfinishedKey)).toEqual({ id: 'b', outcome: 'new' });
  });

  it('held for a time: kept after the job has ended, free when the time is over', async () => {
    const { q, job } = await claimedJob('a', windowKey);
    await q.complete(job);
    expect(await q.add('b', windowKey)).toEqual({ id: 'a', outcome: 'kept' });
    await q.redis.zadd(q.keys.uniqueExpiries, (await q.now()) - 1, 'k');
    expect(await q.add('b', windowKey)).toEqual({ id: 'b', outcome: 'new' });
  });

  it('held for a time: kept also when the hash of the job has gone before, and freed by its removal', async () => {
    const q = testQueue();
    const forAnHour = { unique: 'k', unique_for: 3_600_000 };
    const job = await q.addAndClaim('a', forAnHour);
    await q.complete(job, '1');
    await q.redis.del(q.keys.job('a'));
    expect(await q.add('b', forAnHour)).toEqual({ id: 'a', outcome: 'kept' });
    await q.redis.zadd(q.keys.uniqueExpiries, 1, 'k');
    expect((await q.add('c', forAnHour)).outcome).toBe('new');
    await q.run(q.scripts.remove({ id: 'c' }));
    expect((await q.add('d', forAnHour)).outcome).toBe('new');
  });

  it('an owner whose hash is gone is taken over', async () => {
    const q = testQueue();
    await q.redis.hset(q.keys.unique, 'k', 'gone');
    expect(await q.add('b', unfinishedKey)).toEqual({ id: 'b', outcome: 'new' });
  });

  it('I3: a repeated enqueue with a unique key finds itself and adds nothing', async () => {
    const q = testQueue();
    const first = await q.add('a', unfinishedKey);
    expect(await expectUnchanged(q, () => q.add('a', unfinishedKey))).toEqual(first);
  });
});

const kinds = { pending: pendingKey, unfinished: unfinishedKey, 'a time': windowKey };
type Kind = keyof typeof kinds;
const states = ['waiting', 'running', 'ended'] as const;

/** The state that an enqueue finds. The kind of the new job decides nothing. */
const found: Record<Kind, Record<(typeof states)[number], 'new' | 'kept'>> = {
  pending: { waiting: 'kept', running: 'new', ended: 'new' },
  unfinished: { waiting: 'kept', running: 'kept', ended: 'new' },
  'a time': { waiting: 'kept', running: 'kept', ended: 'kept' },
};

/** Makes a queue whose job a holds the key, in a state. */
async function held(kind: Kind, state: (typeof states)[number]): Promise<TestQueue> {
  const q = testQueue();
  if (state === 'waiting') {
    await q.add('a', kinds[kind]);
    return q;
  }
  const job = await q.addAndClaim('a', kinds[kind]);
  if (state === 'ended') await q.complete(job);
  return q;
}

/** Expects that a job holds the key in its own way and in no other. */
async function expectHolder(q: TestQueue, id: string, kind: Kind): Promise<void> {
  expect(await q.redis.hget(q.keys.unique, 'k')).toBe(id);
  const { unique, unique_for: heldFor, window } = await q.job(id);
  const forATime = kind === 'a time';
  expect([unique, heldFor, window]).toEqual(forATime ? [undefined, undefined, 'k'] : ['k', kind, undefined]);
  expect(await q.redis.zcard(q.keys.uniqueExpiries)).toBe(forATime ? 1 : 0);
}

const names = Object.keys(kinds) as Kind[];
const cases = names.flatMap((holder) =>
  names.flatMap((asker) => states.map((state) => ({ holder, asker, state }))),
);

describe.each(cases)(
  'a key held for $holder by a job that is $state, asked for $asker',
  ({ holder, asker, state }) => {
    it(`keep: ${found[holder][state]}`, async () => {
      const q = await held(holder, state);
      const { outcome } = await q.add('b', kinds[asker]);
      expect(outcome).toBe(found[holder][state]);
      await (outcome === 'new' ? expectHolder(q, 'b', asker) : expectHolder(q, 'a', holder));
    });

    it(`replace: ${state === 'waiting' ? 'replaced' : found[holder][state]}`, async () => {
      const q = await held(holder, state);
      const { outcome } = await q.add('b', { ...kinds[asker], unique_replace: true });
      expect(outcome).toBe(state === 'waiting' ? 'replaced' : found[holder][state]);
      await expectHolder(q, outcome === 'new' ? 'b' : 'a', outcome === 'kept' ? holder : asker);
    });
  },
);

describe('job/enqueue.lua: replace', () => {
  it('restarts the time of a key, so that the last enqueue counts', async () => {
    const q = testQueue();
    const debounce = { ...windowKey, unique_replace: true, delay_ms: 60_000 };
    await q.add('a', debounce);
    await q.redis.zadd(q.keys.uniqueExpiries, (await q.now()) + 1_000, 'k');
    expect(await q.add('b', debounce)).toEqual({ id: 'a', outcome: 'replaced' });
    expect(Number(await q.redis.zscore(q.keys.uniqueExpiries, 'k'))).toBeGreaterThan((await q.now()) + 50_000);
  });

  it('leaves a job alone that took the id of an owner whose hash is gone', async () => {
    const { q, job } = await claimedJob('a', windowKey);
    await q.complete(job);
    await q.redis.del(q.keys.job('a'));
    await q.redis.del(q.keys.completed);
    await q.add('a');
    expect(await q.add('b', { ...windowKey, unique_replace: true })).toEqual({ id: 'a', outcome: 'kept' });
  });

  const replacing = { ...unfinishedKey, unique_replace: true };
  const asked = (request: string) => ({ ...replacing, request });

  it('gives the waiting job the new payload, options and place, under its old id', async () => {
    const q = testQueue();
    await q.add('a', { ...replacing, delay_ms: 60_000, max_attempts: 9 }, '"old"');
    expect(await q.add('b', { ...replacing, priority: 5 }, '"new"')).toEqual({ id: 'a', outcome: 'replaced' });
    expect(await q.ranked(q.keys.prioritized)).toEqual(['a']);
    expect(await q.redis.zcard(q.keys.scheduled)).toBe(0);
    const hash = await q.job('a');
    expect(hash).toMatchObject({ payload: '"new"', status: 'pending', priority: '5', unique: 'k' });
    expect(hash).not.toHaveProperty('max_attempts');
    expect(hash).not.toHaveProperty('due_at_ms');
    expect(await q.redis.exists(q.keys.job('b'))).toBe(0);
    expect(await q.total('enqueued')).toBe(1);
  });

  it('moves a plain job to the back of the queue', async () => {
    const q = testQueue();
    await q.add('a', replacing);
    await q.add('other');
    await q.add('b', replacing);
    expect(await q.pending()).toEqual(['other', 'a']);
  });

  it('I1: replaces a job of the same batch and leaves it in one place', async () => {
    const q = testQueue();
    const options = JSON.stringify(replacing);
    const jobs = ['a', 'b', 'c'].map((id) => ({ id, name: 'n', payload: `"${id}"`, options }));
    const answers = await q.run(q.enqueueCall(jobs));
    expect(answers.map((each) => each.outcome)).toEqual(['new', 'replaced', 'replaced']);
    expect(await q.pending()).toEqual(['a']);
    expect(await q.field('a', 'payload')).toBe('"c"');
  });

  it('I1: replaces no other job of the same batch whose id begins or ends with that of the owner', async () => {
    const q = testQueue();
    const jobs = ['a', 'ab', 'ba', 'c'].map((id) => {
      const options = id === 'a' ? JSON.stringify(unfinishedKey) : id === 'c' ? JSON.stringify(replacing) : '';
      return { id, name: q.name, payload: JSON.stringify(id), options };
    });
    const answers = await q.run(q.enqueueCall(jobs));
    expect(answers.map((each) => each.outcome)).toEqual(['new', 'new', 'new', 'replaced']);
    expect(await q.pending()).toEqual(['ab', 'ba', 'a']);
    expect(await Promise.all(['ab', 'ba', 'a'].map((id) => q.field(id, 'payload')))).toEqual([
      '"ab"',
      '"ba"',
      '"c"',
    ]);
  });

  it('I3: repeated after a lost reply replaces nothing again and gives the first answer', async () => {
    const q = testQueue();
    await q.add('a', replacing);
    const first = await q.add('b', replacing, '"new"');
    await q.add('other');
    expect(await expectUnchanged(q, () => q.add('b', replacing, '"new"'))).toEqual(first);
    expect(await q.pending()).toEqual(['a', 'other']);
  });

  it.each([
    ['pending', 'running'],
    ['pending', 'ended'],
    ['unfinished', 'running'],
    ['unfinished', 'ended'],
    ['a time', 'running'],
    ['a time', 'ended'],
  ] as const)('I3: known also when the replaced job, held for %s, is %s by then', async (kind, state) => {
    const q = testQueue();
    const replacingKind = { ...kinds[kind], unique_replace: true };
    await q.add('a', replacingKind);
    const first = await q.add('b', replacingKind, '"new"');
    const [job] = await q.claim(1);
    if (state === 'ended') await q.complete(job!);
    expect(await expectUnchanged(q, () => q.add('b', replacingKind, '"new"'))).toEqual(first);
  });

  it('I3: known also after another replacement, whose word is the last', async () => {
    const q = testQueue();
    await q.add('a', asked('0'));
    const first = await q.add('b', asked('1'), '"new"');
    await q.add('c', asked('2'), '"last"');
    expect(await expectUnchanged(q, () => q.add('b', asked('1'), '"new"'))).toEqual(first);
    expect(await q.field('a', 'payload')).toBe('"last"');
  });

  it('is remembered for ten minutes and no longer', async () => {
    const q = testQueue();
    await q.add('a', replacing);
    await q.add('b', replacing);
    const life = await q.redis.pttl(`${q.keys.replacedPrefix}b`);
    expect(life).toBeGreaterThan(590_000);
    expect(life).toBeLessThanOrEqual(600_000);
  });

  it('leaves a job that runs as it is', async () => {
    const q: TestQueue = testQueue();
    await q.addAndClaim('a', replacing);
    expect(await expectUnchanged(q, () => q.add('b', replacing))).toEqual({ id: 'a', outcome: 'kept' });
  });

  it('starts a job again that waits for its retry: with all attempts, and with no error left once it completes', async () => {
    const q = testQueue();
    const inWindow = { ...windowKey, unique_replace: true };
    const job = await q.addAndClaim('a', inWindow);
    await q.fail(job, { backoffMs: 60_000 });
    expect(await q.add('b', { ...inWindow, max_attempts: 1 }, '"new"')).toEqual({ id: 'a', outcome: 'replaced' });
    expect(await q.job('a')).toMatchObject({
      attempts: '0',
      payload: '"new"',
      status: 'pending',
      max_attempts: '1',
    });
    expect(await q.job('a')).not.toHaveProperty('errors');
    expect(await q.add('c', inWindow, '"newer"')).toEqual({ id: 'a', outcome: 'replaced' });
    const [again] = await q.claim(1);
    expect(again).toMatchObject({ id: 'a', attempt: 1 });
    await q.complete(again!);
    expect(await q.status('a')).toBe('completed');
    expect(await q.job('a')).not.toHaveProperty('last_error');
  });

  it('leaves nothing of the reports of the earlier job: progress, log, snoozes, errors, the mark of an isolated job', async () => {
    const q = testQueue();
    await q.add('a', replacing);
    const told = {
      progress: '1',
      log: '{}',
      snoozes: '2',
      interruptions: '3',
      next_crash_is_last: '1',
    };
    const failed = { last_error: 'no', last_error_at_ms: '5' };
    await q.redis.hset(q.keys.job('a'), { ...told, ...failed });
    await q.add('b', replacing);
    const hash = await q.job('a');
    expect(Object.keys({ ...told, ...failed }).filter((field) => field in hash)).toEqual([]);
  });

  it.each([
    ['its own group, which is full', 'g', { id: 'a', outcome: 'replaced' }],
    ['another group with room', 'empty', { id: 'a', outcome: 'replaced' }],
    ['another group, which is full', 'full', { full: { group: 'full', limit: 1 } }],
  ])('replaces a job by one of %s, or refuses it', async (_, group, reply) => {
    const q = testQueue();
    await q.run(q.scripts.limits.set({ groups: { maxPending: 1 } }));
    await q.add('other', { group: 'full' });
    await q.add('a', { ...replacing, group: 'g' });
    expect(await q.add('b', { ...replacing, group }, '"new"')).toMatchObject(reply);
    expect(await q.field('a', 'payload')).toBe('full' in reply ? '{}' : '"new"');
  });

  it.each(['kk', 'k2', '2k'])('replaces no job whose window has only a name like its key: %s', async (window) => {
    const q = testQueue();
    await q.add('a');
    await q.redis.hset(q.keys.unique, 'k', 'a');
    await q.redis.zadd(q.keys.uniqueExpiries, (await q.now()) + 1_000, 'k');
    await q.redis.hset(q.keys.job('a'), { window, window_ms: 1_000 });
    q.broken = true;
    const own = { ...windowKey, unique_for: 1_000, unique_replace: true };
    expect(await q.add('b', own)).toMatchObject({ id: 'a', outcome: 'kept' });
    await q.redis.hset(q.keys.job('a'), { window: 'k' });
    expect(await q.add('b', own)).toMatchObject({ id: 'a', outcome: 'replaced' });
  });

  it('gives the waiting job also another name', async () => {
    const q = testQueue();
    await q.add('a', replacing);
    const jobs = [{ id: 'b', name: 'bill', payload: '2', options: JSON.stringify(replacing) }];
    expect(await q.run(q.enqueueCall(jobs))).toEqual([{ id: 'a', outcome: 'replaced' }]);
    expect(await q.job('a')).toMatchObject({ name: 'bill', payload: '2' });
  });

  it('replaces again by the same id where the caller chose it, and knows a repeat by its request', async () => {
    const q = testQueue();
    await q.add('a', asked('0'));
    expect(await q.add('b', asked('1'), '"new"')).toEqual({ id: 'a', outcome: 'replaced' });
    expect(await q.add('b', asked('2'), '"newer"')).toEqual({ id: 'a', outcome: 'replaced' });
    expect(await q.field('a', 'payload')).toBe('"newer"');
    await expectUnchanged(q, () => q.add('b', asked('2'), '"newer"'));
    expect(await expectUnchanged(q, () => q.add('a', asked('0')))).toEqual({ id: 'a', outcome: 'new' });
  });

  it('I1: leaves a job that a client of the pattern is about to claim', async () => {
    const q = testQueue();
    await q.add('a', replacing);
    await q.redis.lmove(q.keys.pending, q.keys.processing, 'RIGHT', 'LEFT');
    expect(await expectUnchanged(q, () => q.add('b', replacing))).toEqual({ id: 'a', outcome: 'kept' });
    q.broken = true; // until that client writes its claim
  });
});
