import { describe, expect, it } from '@jest/globals';
import type { AskedOptions } from '#queue/store/asked-options.js';
import { expectUnchanged, queueOn, testQueue, type TestQueue } from '../../support/queue/queue-state.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';

const MINUTE = 60_000;

/** Adds one job with options as a store takes them. */
async function add(q: TestQueue, id: string, options?: AskedOptions, payload = '{}') {
  const job = { id, name: q.name, payload, ...(options && { options }) };
  const [answer] = await q.run(q.scripts.enqueue([job]));
  return answer!;
}

async function startOf(q: TestQueue, id: string): Promise<number> {
  return Number(await q.redis.zscore(q.keys.scheduled, id));
}

/** Makes the job look as if its enqueue was so long ago. */
async function age(q: TestQueue, id: string, ms: number): Promise<void> {
  await q.redis.hset(q.keys.job(id), 'enqueued_at_ms', (await q.now()) - ms);
}

describe('job/enqueue-newest.lua: a debounce with a longest wait', () => {
  const debounce: AskedOptions = {
    unique: { key: 'k', for: 'pending', onConflict: 'replace', maxDelayMs: 3 * MINUTE },
    delayMs: MINUTE,
  };

  it('starts the delay again, while the bound is further away', async () => {
    const q = testQueue();
    expect(await add(q, 'a', debounce)).toEqual({ id: 'a', outcome: 'new' });
    await age(q, 'a', MINUTE);
    expect(await add(q, 'b', debounce, '"new"')).toEqual({ id: 'a', outcome: 'replaced' });
    expect(Math.abs((await startOf(q, 'a')) - (await q.now()) - MINUTE)).toBeLessThan(5_000);
    expect(await q.field('a', 'payload')).toBe('"new"');
  });

  it('starts no later than the bound behind the first enqueue', async () => {
    const q = testQueue();
    await add(q, 'a', debounce);
    await age(q, 'a', 2.5 * MINUTE);
    for (const id of ['b', 'c']) {
      expect(await add(q, id, debounce, `"${id}"`)).toEqual({ id: 'a', outcome: 'replaced' });
      expect(await startOf(q, 'a')).toBe(Number(await q.field('a', 'enqueued_at_ms')) + 3 * MINUTE);
    }
    expect(await q.field('a', 'payload')).toBe('"c"');
  });

  it('starts at once if the bound has passed', async () => {
    const q = testQueue();
    await add(q, 'a', debounce);
    await age(q, 'a', 5 * MINUTE);
    expect(await add(q, 'b', debounce)).toEqual({ id: 'a', outcome: 'replaced' });
    expect(await q.status('a')).toBe('pending');
    expect(await q.pending()).toEqual(['a']);
    expect(await q.takeWake()).toBe(true);
  });

  it('begins a new wait for a job that waits for a retry', async () => {
    const q = testQueue();
    const first = await add(q, 'a', { ...debounce, delayMs: 0 });
    expect(first.outcome).toBe('new');
    const [job] = await q.claim(1);
    await q.fail(job!, { backoffMs: 10 * MINUTE });
    await age(q, 'a', 10 * MINUTE);
    expect((await add(q, 'b', debounce)).outcome).toBe('replaced');
    expect(Math.abs((await startOf(q, 'a')) - (await q.now()) - MINUTE)).toBeLessThan(5_000);
    const [since, fence] = (await q.field('a', 'debounce'))!.split(' ');
    expect(fence).toBe(await q.field('a', 'fence'));
    await q.redis.hset(q.keys.job('a'), 'debounce', `${Number(since) - 2.5 * MINUTE} ${fence}`);
    await add(q, 'c', debounce);
    expect(await startOf(q, 'a')).toBe(Number(since) + MINUTE / 2);
  });

  it('I3: repeated after a lost reply changes nothing', async () => {
    const q = testQueue();
    await add(q, 'a', debounce);
    const first = await add(q, 'b', debounce, '"b"');
    expect(await expectUnchanged(q, () => add(q, 'b', debounce, '"b"'))).toEqual(first);
  });

  it('bounds each job of one call, beside plain ones', async () => {
    const q = testQueue();
    await add(q, 'a', debounce);
    await age(q, 'a', 2.5 * MINUTE);
    const jobs = ['b', 'plain', 'c'].map((id) => ({
      id,
      name: q.name,
      payload: `"${id}"`,
      ...(id !== 'plain' && { options: debounce }),
    }));
    const answers = await q.run(q.scripts.enqueue(jobs));
    expect(answers.map(({ outcome }) => outcome)).toEqual(['replaced', 'new', 'replaced']);
    expect(await startOf(q, 'a')).toBe(Number(await q.field('a', 'enqueued_at_ms')) + 3 * MINUTE);
    expect(await q.pending()).toEqual(['plain']);
  });
});

const WAITING: Record<string, AskedOptions> = {
  pending: {},
  prioritized: { priority: 5 },
  scheduled: { delayMs: MINUTE },
  'in its group': { group: 'g' },
};

function newest(rest: AskedOptions = {}): AskedOptions {
  return { unique: { key: 'k', for: 'unfinished', keep: 'newest' }, ...rest };
}

describe("job/enqueue-newest.lua: keep: 'newest'", () => {
  it.each(Object.entries(WAITING))('cancels the older job that is %s, and adds the newer one', async (_, rest) => {
    const q = testQueue();
    await add(q, 'a', newest(rest));
    expect(await add(q, 'b', newest(rest), '"b"')).toEqual({ id: 'b', outcome: 'new' });
    expect(await q.job('a')).toMatchObject({ status: 'cancelled', superseded_by: 'b' });
    expect(await q.redis.lrange(q.keys.cancelled, 0, -1)).toEqual(['a']);
    expect(await q.redis.hget(q.keys.unique, 'k')).toBe('b');
    expect([await q.total('cancelled'), await q.total('enqueued')]).toEqual([1, 2]);
    if (rest.delayMs) await q.makeDue('b');
    expect((await q.claim(9)).map(({ id }) => id)).toEqual(['b']);
  });

  it('ends all but the last of one call', async () => {
    const q = testQueue();
    const jobs = ['a', 'b', 'plain', 'c'].map((id) => ({
      id,
      name: q.name,
      payload: '{}',
      ...(id !== 'plain' && { options: newest() }),
    }));
    const answers = await q.run(q.scripts.enqueue(jobs));
    expect(answers.map(({ outcome }) => outcome)).toEqual(['new', 'new', 'new', 'new']);
    expect([await q.field('a', 'superseded_by'), await q.field('b', 'superseded_by')]).toEqual(['b', 'c']);
    expect(await q.pending()).toEqual(['plain', 'c']);
  });

  it('leaves a running and a just ended owner alone', async () => {
    const q = testQueue();
    await add(q, 'a', newest());
    const [job] = await q.claim(1);
    expect(await expectUnchanged(q, () => add(q, 'b', newest()))).toEqual({ id: 'a', outcome: 'kept' });
    await q.complete(job!);
    expect(await add(q, 'c', newest())).toEqual({ id: 'c', outcome: 'new' });
    const windowed: AskedOptions = { unique: { key: 'w', for: { ms: MINUTE }, keep: 'newest' } };
    await add(q, 'd', windowed);
    const ended = (await q.claim(9)).find(({ id }) => id === 'd')!;
    await q.complete(ended);
    expect(await expectUnchanged(q, () => add(q, 'e', windowed))).toEqual({ id: 'd', outcome: 'kept' });
  });

  it('I3: repeated after a lost reply ends nothing more', async () => {
    const q = testQueue();
    await add(q, 'a', newest());
    const first = await add(q, 'b', newest());
    expect(await expectUnchanged(q, () => add(q, 'b', newest()))).toEqual(first);
    await add(q, 'c', newest());
    expect(await expectUnchanged(q, () => add(q, 'b', newest()))).toEqual(first);
  });

  it('takes the room of the older job in a full queue and a full group', async () => {
    const q = testQueue({ maxPending: 2, groups: { maxPending: 1 } });
    await add(q, 'a', newest({ group: 'g' }));
    await add(q, 'other');
    expect((await add(q, 'no')).full).toMatchObject({ limit: 2 });
    expect(await add(q, 'b', newest({ group: 'g' }))).toEqual({ id: 'b', outcome: 'new' });
    await add(q, 'x', newest({ group: 'g', unique: { key: 'x', for: 'pending', keep: 'newest' } }));
    expect(await q.redis.zrange(`${q.keys.groupsPrefix}waiting:g`, 0, '-1')).toEqual(['b']);
  });

  it('takes the room of the older job in a group, where only groups have a bound', async () => {
    const q = testQueue({ groups: { maxPending: 1 } });
    await add(q, 'a', newest({ group: 'g' }));
    expect(await add(q, 'b', newest({ group: 'g' }))).toEqual({ id: 'b', outcome: 'new' });
    expect(await q.status('a')).toBe('cancelled');
  });

  it('refuses the newer job, and leaves the older one, if its own group is full', async () => {
    const q = testQueue({ groups: { maxPending: 1 } });
    await add(q, 'full', { group: 'h' });
    await add(q, 'a', newest());
    const { full } = await expectUnchanged(q, () => add(q, 'b', newest({ group: 'h' })));
    expect(full).toMatchObject({ group: 'h', limit: 1 });
    expect(await q.status('a')).toBe('pending');
  });
});

const STOPPING: AskedOptions = { unique: { key: 'k', for: 'unfinished', onConflict: 'cancel-running' } };

/** Delivers the ends in the outbox, as a worker does. */
async function deliver(q: TestQueue): Promise<void> {
  const ends = (await q.run(q.scripts.batches.outbox({ limit: 10 }))) as never;
  await q.run(q.scripts.batches.deliver({ from: q.name, ends }));
  await q.run(q.scripts.batches.acknowledge({ ends }));
}

describe("job/enqueue-newest.lua: 'cancel-running'", () => {
  it('asks the running job to stop, and lets the newer one wait for its end', async () => {
    const q = testQueue();
    await add(q, 'a', STOPPING);
    const [job] = await q.claim(1);
    expect(await add(q, 'b', STOPPING)).toEqual({ id: 'b', outcome: 'new' });
    expect(await q.job('a')).toMatchObject({ status: 'processing', superseded_by: 'b' });
    expect(await q.field('a', 'cancel_requested_at_ms')).not.toBeNull();
    expect(await q.redis.zrange(`${q.keys.nudgePrefix}worker-1`, 0, '-1')).toEqual(['cancel']);
    expect(await q.job('b')).toMatchObject({ status: 'scheduled', supersedes: 'a' });
    expect(await q.claim(9)).toEqual([]);
    expect(await q.fail(job!)).toEqual(['cancelled']);
    await deliver(q);
    await q.makeDue('b');
    expect((await q.claim(9)).map(({ id }) => id)).toEqual(['b']);
    expect(await q.redis.hget(q.keys.unique, 'k')).toBe('b');
  });

  it('starts the newer job also after a crash of the older one', async () => {
    const q = testQueue();
    await add(q, 'a', STOPPING);
    await q.claim(1);
    await add(q, 'b', STOPPING);
    await q.expireClaims('a');
    await q.run(q.scripts.sweep.reclaim({ limit: 100, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
    expect([await q.status('a'), await q.field('a', 'superseded_by')]).toEqual(['cancelled', 'b']);
    await deliver(q);
    await deliver(q); // the reply of the first was lost
    await q.makeDue('b');
    expect((await q.claim(9)).map(({ id }) => id)).toEqual(['b']);
  });

  it('leaves the running job and its key alone if the newer one finds no room', async () => {
    const q = testQueue({ maxPending: 1 });
    await add(q, 'a', STOPPING);
    await q.claim(1);
    await add(q, 'other');
    const { full } = await expectUnchanged(q, () => add(q, 'b', STOPPING));
    expect(full).toMatchObject({ limit: 1 });
  });

  it('I3: repeated after a lost reply asks and adds nothing more', async () => {
    const q = testQueue();
    await add(q, 'a', STOPPING);
    await q.claim(1);
    const first = await add(q, 'b', STOPPING);
    expect(await expectUnchanged(q, () => add(q, 'b', STOPPING))).toEqual(first);
  });
});

function waitingIn(q: TestQueue, group: string): Promise<string[]> {
  return q.redis.zrange(`${q.keys.groupsPrefix}waiting:${group}`, 0, '-1');
}

it('looks first after the jobs that have waited longest for the end of another', async () => {
  const clock = { nowMs: 1_800_000_000_000 };
  const q = queueOn(connectClocked(clock));
  for (const key of ['first', 'second']) {
    const stopping: AskedOptions = { unique: { key, for: 'unfinished', onConflict: 'cancel-running' } };
    await add(q, `${key}-runs`, stopping);
    await q.claim(1);
    await add(q, key === 'first' ? 'z' : 'b', stopping);
    clock.nowMs += 1_000;
  }
  expect(await q.ranked(q.keys.awaiting)).toEqual(['z', 'b']);
});

describe('job/enqueue-newest.lua: a full queue that drops its oldest job', () => {
  it('cancels the job that waits longest, and names the newer one', async () => {
    const q = testQueue({ maxPending: 2, onFull: 'drop-oldest' });
    for (const id of ['a', 'b', 'c']) {
      expect(await add(q, id)).toEqual({ id, outcome: 'new' });
    }
    expect(await q.pending()).toEqual(['b', 'c']);
    expect(await q.status('a')).toBe('cancelled');
    expect(await q.field('a', 'superseded_by')).toBe('c');
    expect(await q.redis.hget(q.keys.stats, 'cancelled_total')).toBe('1');
  });

  it('keeps the newest jobs of one call that is larger than the bound', async () => {
    const q = testQueue({ maxPending: 2, onFull: 'drop-oldest' });
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const jobs = ids.map((id) => ({ id, name: q.name, payload: '{}' }));
    const outcomes = await q.run(q.scripts.enqueue(jobs));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(ids.map(() => 'new'));
    expect(await q.pending()).toEqual(['d', 'e']);
    expect(await q.status('c')).toBe('cancelled');
  });

  it('drops of a full group only jobs of that group', async () => {
    const q = testQueue({ groups: { maxPending: 1 }, onFull: 'drop-oldest' });
    await add(q, 'other');
    await add(q, 'a', { group: 'g' });
    await add(q, 'h', { group: 'h' });
    await add(q, 'b', { group: 'g' });
    expect(await waitingIn(q, 'g')).toEqual(['b']);
    expect(await waitingIn(q, 'h')).toEqual(['h']);
    expect(await q.pending()).toEqual(['other']);
  });

  it('drops the first job with the least priority if no plain job waits', async () => {
    const q = testQueue({ maxPending: 3, onFull: 'drop-oldest' });
    await add(q, 'urgent', { priority: 900 });
    await add(q, 'low1', { priority: 1 });
    await add(q, 'low2', { priority: 1 });
    await add(q, 'new', { priority: 900 });
    expect(await q.status('low1')).toBe('cancelled');
    expect(await q.redis.zrange(q.keys.prioritized, 0, '-1')).toEqual(['urgent', 'new', 'low2']);
  });

  it('drops the head of a group that waits longest if no other job waits', async () => {
    const q = testQueue({ maxPending: 3, onFull: 'drop-oldest' });
    await add(q, 'later', { delayMs: MINUTE });
    await add(q, 'g', { group: 'g' });
    await add(q, 'h', { group: 'h' });
    await add(q, 'new');
    expect(await q.status('g')).toBe('cancelled');
    expect(await waitingIn(q, 'h')).toEqual(['h']);
  });

  it('drops of a full group the first job with the least priority', async () => {
    const q = testQueue({ groups: { maxPending: 3 }, onFull: 'drop-oldest' });
    await add(q, 'urgent', { group: 'g', priority: 900 });
    await add(q, 'low1', { group: 'g' });
    await add(q, 'low2', { group: 'g' });
    await add(q, 'new', { group: 'g', priority: 900 });
    expect(await q.status('low1')).toBe('cancelled');
    expect(await waitingIn(q, 'g')).toEqual(['urgent', 'new', 'low2']);
  });

  it('makes room for the bytes of a group in that group alone', async () => {
    const q = testQueue({ groups: { maxPendingBytes: 10 }, onFull: 'drop-oldest' });
    await add(q, 'plain', undefined, '"12"');
    await add(q, 'a', { group: 'g' }, '"12"');
    await add(q, 'b', { group: 'g' }, '"34"');
    expect((await add(q, 'new', { group: 'g' }, '"1234"')).outcome).toBe('new');
    expect(await waitingIn(q, 'g')).toEqual(['b', 'new']);
    expect(await q.pending()).toEqual(['plain']);
  });

  it('drops jobs of several groups for one call, also those of that call', async () => {
    const q = testQueue({ maxPending: 2, onFull: 'drop-oldest' });
    await add(q, 'a', { group: 'a' });
    await add(q, 'b', { group: 'b' });
    const jobs = ['c', 'd', 'e', 'e2'].map((id) => ({
      id,
      name: q.name,
      payload: '{}',
      options: { group: id[0]! },
    }));
    const outcomes = await q.run(q.scripts.enqueue(jobs));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(jobs.map(() => 'new'));
    expect(await Promise.all(['a', 'b', 'c', 'd'].map((id) => q.status(id)))).toEqual(Array(4).fill('cancelled'));
    expect(await waitingIn(q, 'e')).toEqual(['e', 'e2']);
  });

  it('refuses a job if all others have a start, or if its payload alone is too large', async () => {
    const q = testQueue({ maxPending: 1, onFull: 'drop-oldest' });
    await add(q, 'later', { delayMs: MINUTE });
    expect((await expectUnchanged(q, () => add(q, 'a'))).full).toMatchObject({ limit: 1 });
    const small = testQueue({ maxPendingBytes: 10, onFull: 'drop-oldest' });
    await add(small, 'a', undefined, '"123"');
    const { full } = await expectUnchanged(small, () => add(small, 'b', undefined, '"0123456789"'));
    expect(full).toMatchObject({ limit: 10, unit: 'bytes' });
  });

  it('makes room for the bytes of the newer job', async () => {
    const q = testQueue({ maxPendingBytes: 10, onFull: 'drop-oldest' });
    await add(q, 'a', undefined, '"12"');
    await add(q, 'b', undefined, '"34"');
    expect((await add(q, 'c', undefined, '"123456"')).outcome).toBe('new');
    expect(await q.pending()).toEqual(['c']);
  });

  it('I4: drops at most 100 jobs for one, after the bound was lowered', async () => {
    const q = testQueue({ onFull: 'drop-oldest' });
    await q.run(
      q.scripts.enqueue(Array.from({ length: 150 }, (_, i) => ({ id: `j${i}`, name: q.name, payload: '{}' }))),
    );
    await q.redis.hset(q.keys.settings, 'max_pending', 10);
    expect((await add(q, 'a')).full).toMatchObject({ limit: 10 });
    expect(await q.pending()).toHaveLength(50);
    expect((await add(q, 'b')).outcome).toBe('new');
    expect(await q.pending()).toHaveLength(10);
  });

  it('frees the unique key of the dropped job', async () => {
    const q = testQueue({ maxPending: 1, onFull: 'drop-oldest' });
    const unique = { key: 'k', for: 'unfinished' } as const;
    await add(q, 'a', { unique });
    await add(q, 'b');
    expect((await add(q, 'c', { unique })).outcome).toBe('new');
    expect(await q.pending()).toEqual(['c']);
  });

  it('I7: leaves a job without a hash to the sweep', async () => {
    const q = testQueue({ maxPending: 1, onFull: 'drop-oldest' });
    await add(q, 'a');
    await q.redis.del(q.keys.job('a'));
    expect((await expectUnchanged(q, () => add(q, 'b'))).full).toMatchObject({ limit: 1 });
    await q.claim(1); // sets it aside
  });

  it('I7: leaves a job whose key is no hash to the claim, and adds what fits', async () => {
    const q = testQueue({ maxPending: 2, onFull: 'drop-oldest' });
    await add(q, 'a');
    await q.redis.del(q.keys.job('a'));
    await q.redis.set(q.keys.job('a'), 'text');
    const jobs = ['b', 'c'].map((id) => ({ id, name: q.name, payload: '{}' }));
    const outcomes = await q.run(q.scripts.enqueue(jobs));
    expect(outcomes).toMatchObject([{ outcome: 'new' }, { full: { limit: 2 } }]);
    expect(await q.pending()).toEqual(['a', 'b']);
    await q.claim(1); // sets it aside
  });

  it('I3: repeated after a lost reply drops nothing more', async () => {
    const q = testQueue({ maxPending: 1, onFull: 'drop-oldest' });
    await add(q, 'a');
    const first = await add(q, 'b');
    expect(await expectUnchanged(q, () => add(q, 'b'))).toEqual(first);
  });
});
