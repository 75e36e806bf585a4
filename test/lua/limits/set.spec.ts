import { describe, expect, it } from '@jest/globals';
import { expectUnchanged, queueOn, testQueue, queueWith, claimedJob } from '../../support/queue/queue-state.js';
import { HOUR, hourly, ids, limited } from './limited-queue.js';

describe('limits/set.lua', () => {
  it('bounds the jobs that run at once over all claimers', async () => {
    const q = await limited({ maxRunning: 2 }, 'a', 'b', 'c', 'd');
    expect(ids(await q.claim(1))).toEqual(['a']);
    expect(ids(await q.claim(5, { worker: 'worker-2' }))).toEqual(['b']);
    expect(ids(await q.claim(5))).toEqual([]);
    expect(await q.pending()).toEqual(['c', 'd']);
  });

  it('wakes the next claimer for the slots that a claim leaves, and no worker if it leaves none', async () => {
    const q = await limited({ maxRunning: 2 }, 'a', 'b', 'c');
    await q.takeWake();
    expect(ids(await q.claim(1))).toEqual(['a']);
    expect(await q.takeWake()).toBe(true);
    expect(ids(await q.claim(1, { worker: 'worker-2' }))).toEqual(['b']);
    expect(await q.takeWake()).toBe(false);
  });

  it('frees a slot when a job completes, fails permanently, is retried later, is released or loses its claim', async () => {
    const q = await limited({ maxRunning: 1 }, 'a', 'b', 'c', 'd', 'e', 'f');
    const [a] = await q.claim(5);
    await q.run(q.scripts.complete([{ ...a!, result: '' }], true));
    const [b] = await q.claim(5);
    await q.fail(b!, { final: true, begun: true });
    const [c] = await q.claim(5);
    await q.fail(c!, { backoffMs: HOUR, begun: true });
    const [d] = await q.claim(5);
    await q.run(q.scripts.release([{ ...d!, reason: 'snooze', delayMs: HOUR }]));
    const [e] = await q.claim(5);
    await q.expireClaims(e!.id);
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: HOUR, waitMs: 0 }));
    expect([a!.id, b!.id, c!.id, d!.id, e!.id]).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(ids(await q.claim(5))).toEqual(['e']);
  });

  it('sets the wake marker for the slot that a completion, a failure or a release frees', async () => {
    const q = await limited({ maxRunning: 1 }, 'a', 'b', 'c', 'd');
    const marked = () => q.takeWake();
    const [a] = await q.claim(5);
    await marked();
    expect(await q.claim(5)).toEqual([]);
    expect(await marked()).toBe(false); // a claim that the limit refuses wakes nobody
    await q.run(q.scripts.complete([{ ...a!, result: '' }], true));
    expect(await marked()).toBe(true);
    const [b] = await q.claim(5);
    await q.fail(b!, { final: true, begun: true });
    expect(await marked()).toBe(true);
    const [c] = await q.claim(5);
    await q.run(q.scripts.release([{ ...c!, reason: 'snooze', delayMs: HOUR }]));
    expect(await marked()).toBe(true);
  });

  it('wakes a worker for the jobs that may start under raised limits', async () => {
    const q = await limited({ maxRunning: 1 }, 'a', 'b');
    await q.claim(5);
    await q.takeWake();
    await q.run(q.scripts.limits.set({ maxRunning: 2 }));
    expect(await q.takeWake()).toBe(true);
  });

  it('lets a burst start at once and then one job per interval', async () => {
    const q = await limited(hourly(60, 3), 'a', 'b', 'c', 'd', 'e');
    expect(ids(await q.claim(2))).toEqual(['a', 'b']);
    const { jobs, nextDueInMs } = await q.run(q.claimCall(5));
    expect(ids(jobs)).toEqual(['c']);
    expect(nextDueInMs).toBeGreaterThan(50_000); // one a minute
    expect(nextDueInMs).toBeLessThanOrEqual(60_000);
    expect(await q.claim(5)).toEqual([]);
    // A minute later: the arrival time lies that much further back.
    const tat = Number(await q.redis.hget(q.keys.settings, 'rate_tat_us'));
    await q.redis.hset(q.keys.settings, 'rate_tat_us', String(tat - 60_000_000));
    expect(ids(await q.claim(5))).toEqual(['d']);
  });

  it('earns no more than the burst in an idle hour', async () => {
    const q = await limited(hourly(60, 2), 'a', 'b', 'c', 'd');
    await q.redis.hset(q.keys.settings, 'rate_tat_us', '1');
    expect(ids(await q.claim(9))).toEqual(['a', 'b']);
  });

  it('charges the cost of a job, and keeps the order of those that must wait', async () => {
    const q = await limited(hourly(60, 5));
    await q.add('a', { cost: 3 });
    await q.add('b', { cost: 4 });
    await q.add('c');
    expect(ids(await q.claim(5))).toEqual(['a']);
    expect(await q.pending()).toEqual(['b', 'c']);
  });

  it('keeps a priority of a job that the rate puts back', async () => {
    const q = await limited(hourly(60, 2));
    await q.add('urgent', { priority: 9, cost: 2 });
    await q.add('also', { priority: 8 });
    expect(ids(await q.claim(5))).toEqual(['urgent']);
    expect(await q.status('also')).toBe('pending');
    expect(await q.redis.zcard(q.keys.prioritized)).toBe(1);
  });

  it('loses no job of a claim in which the rate meets a job that is not a hash', async () => {
    const q = await limited(hourly(60, 5));
    q.broken = true;
    await q.add('a', { cost: 4 });
    await q.add('b', { cost: 3 });
    await q.addAll('c');
    await q.redis.del(q.keys.job('c'));
    await q.redis.set(q.keys.job('c'), 'text');
    expect(ids(await q.claim(5))).toEqual(['a']);
    expect(await q.pending()).toEqual(['b', 'c']);
  });

  it('keeps the time for one claimer only, and hands it over when that one is full', async () => {
    const q = await limited(hourly(60, 1), 'a', 'b', 'c');
    await q.redis.del(q.keys.wake);
    const first = await q.run(q.claimCall(1));
    expect(first.nextDueInMs).toBeUndefined(); // its only slot is taken
    expect(await q.redis.exists(q.keys.wake)).toBe(1);
    expect((await q.run(q.claimCall(1, { worker: 'worker-2' }))).nextDueInMs).toBeGreaterThan(0);
    expect((await q.run(q.claimCall(1, { worker: 'worker-3' }))).nextDueInMs).toBeUndefined();
  });

  it('is never claimed ahead of a free slot', async () => {
    const q = await limited({ maxRunning: 10 }, 'a', 'b', 'c');
    expect(ids(await q.claim(3, { slots: 1 }))).toEqual(['a']);
  });

  it('I3: repeated it changes nothing, and the spent rate stays spent', async () => {
    const q = await limited(hourly(60, 1), 'a', 'b');
    await q.claim(1);
    const { rate_tat_us: spent } = await q.redis.hgetall(q.keys.settings);
    await q.run(q.scripts.limits.set(hourly(60, 1)));
    await expectUnchanged(q, () => q.run(q.scripts.limits.set(hourly(60, 1))));
    expect((await q.redis.hgetall(q.keys.settings)).rate_tat_us).toBe(spent);
    expect(await q.claim(1)).toEqual([]);
  });
});

describe('a rest', () => {
  it('releases the job first in the line, its attempt uncounted, and holds the queue', async () => {
    const q = await queueWith('a', 'b');
    const [a] = await q.claim(1);
    expect(await q.run(q.scripts.release([{ ...a!, reason: 'rate_limited', delayMs: HOUR }]))).toEqual([
      'released',
    ]);
    const { jobs, nextDueInMs } = await q.run(q.claimCall(5));
    expect(jobs).toEqual([]);
    expect(nextDueInMs).toBeGreaterThan(HOUR - 10_000);
    expect(await q.pending()).toEqual(['a', 'b']);
    expect(await q.field('a', 'attempts')).toBe('0');
    expect(await q.field('a', 'rate_limited')).toBe('1');
    await q.redis.hset(q.keys.settings, 'rests_until_ms', '1');
    expect(ids(await q.claim(5))).toEqual(['a', 'b']);
  });

  it('I3: repeated after the job was claimed again it gets the first answer', async () => {
    const { q, job } = await claimedJob('a');
    const release = () => q.run(q.scripts.release([{ ...job, reason: 'rate_limited', delayMs: 1 }]));
    expect(await release()).toEqual(['released']);
    await q.redis.hset(q.keys.settings, 'rests_until_ms', '1');
    expect(ids(await q.claim(1))).toEqual(['a']);
    expect(await expectUnchanged(q, release)).toEqual(['released']);
  });
});

describe('limits that workers configure', () => {
  it('hold from the announcement, and give way to those set at run time until these are cleared', async () => {
    const configured = testQueue({ maxRunning: 2 });
    const other = queueOn(configured.redis, { maxRunning: 5 }, configured.name);
    const plain = queueOn(configured.redis, {}, configured.name);
    const limit = async () => (await configured.run(configured.scripts.limits.get())).maxRunning;
    await configured.run(configured.scripts.workers.register({ worker: 'w1', serves: true }));
    expect(await limit()).toBe(2);
    await other.run(other.scripts.workers.register({ worker: 'w2', serves: true })); // replicas that disagree do not flap
    expect(await limit()).toBe(2);
    await configured.run(configured.scripts.limits.set({ maxRunning: 9 }));
    await configured.run(configured.scripts.workers.register({ worker: 'w1', serves: true }));
    expect(await limit()).toBe(9);
    await configured.run(configured.scripts.limits.clear());
    expect(await limit()).toBe(2);
    await other.run(other.scripts.workers.register({ worker: 'w2', serves: true }));
    expect(await limit()).toBe(2);
    await configured.run(configured.scripts.workers.register({ worker: 'w1', serves: false }));
    await other.run(other.scripts.workers.register({ worker: 'w2', serves: true }));
    expect(await limit()).toBe(5);
    await other.run(other.scripts.workers.register({ worker: 'w2', serves: false }));
    await plain.run(plain.scripts.workers.register({ worker: 'w3', serves: true })); // a deploy without limits takes them away
    expect(await limit()).toBeUndefined();
  });

  it('hold while their worker lives, and give way 30 s after it was last seen', async () => {
    const dead = testQueue({ maxRunning: 2 });
    const alive = queueOn(dead.redis, { maxRunning: 5 }, dead.name);
    const limit = async () => (await dead.run(dead.scripts.limits.get())).maxRunning;
    await dead.run(dead.scripts.workers.register({ worker: 'w1', serves: true }));
    const seen = async (agoMs: number) => dead.redis.zadd(dead.keys.workers, (await dead.now()) - agoMs, 'w1');
    await seen(25_000);
    await alive.run(alive.scripts.workers.register({ worker: 'w2', serves: true }));
    expect(await limit()).toBe(2);
    await seen(30_001);
    await alive.run(alive.scripts.workers.register({ worker: 'w2', serves: true }));
    expect(await limit()).toBe(5);
  });

  it('hold at once when those set at run time are cleared, and a clear opens no rate', async () => {
    const q = testQueue({ ...hourly(60, 1), groups: { maxRunning: 1 } });
    await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
    await q.run(q.scripts.limits.set(hourly(60, 1)));
    await q.addAll('a', 'b');
    expect(ids(await q.claim(5))).toEqual(['a']);
    await q.run(q.scripts.limits.clear());
    expect(await q.run(q.scripts.limits.get())).toMatchObject({
      source: 'configuration',
      groups: { maxRunning: 1 },
    });
    expect(ids(await q.claim(5))).toEqual([]);
  });

  it('that change while others are set at run time hold after the clear, those of the code alone', async () => {
    const before = testQueue({ maxRunning: 2 });
    const after = queueOn(before.redis, { maxRunning: 3 }, before.name);
    const plain = queueOn(before.redis, {}, before.name);
    await before.run(before.scripts.workers.register({ worker: 'w1', serves: true }));
    await before.run(before.scripts.limits.set({ maxRunning: 9 }));
    await before.run(before.scripts.workers.register({ worker: 'w1', serves: false }));
    await after.run(after.scripts.workers.register({ worker: 'w2', serves: true }));
    await before.run(before.scripts.limits.clear());
    expect(await before.run(before.scripts.limits.get())).toMatchObject({ source: 'configuration', maxRunning: 3 });
    await before.run(before.scripts.limits.set({ maxRunning: 9 }));
    await after.run(after.scripts.workers.register({ worker: 'w2', serves: false }));
    await plain.run(plain.scripts.workers.register({ worker: 'w3', serves: true }));
    expect(await before.run(before.scripts.limits.get())).toMatchObject({ source: 'set', maxRunning: 9 });
    await before.run(before.scripts.limits.clear());
    expect(await before.run(before.scripts.limits.get())).toEqual({ source: 'none' });
  });

  it('releases the jobs that a repeated claim with fewer bytes does not bring', async () => {
    const q = testQueue();
    await q.run(q.scripts.limits.set(hourly(1, 3)));
    for (const id of ['a', 'b', 'c']) await q.add(id, {}, JSON.stringify('x'.repeat(1_000)));
    expect(await q.claim(3, { token: 'same' })).toHaveLength(3);
    expect(ids(await q.claim(3, { token: 'same', mostBytes: 1_500 }))).toEqual(['a']);
    expect(ids(await q.claim(3))).toEqual(['b', 'c']);
  });
});

describe('a rate with a part only', () => {
  const PARTS: readonly [limit: string, period: string, burst: string][] = [
    ['5', '', ''],
    ['', '1000', ''],
    ['', '', '3'],
    ['5', '', '3'],
    ['', '1000', '3'],
  ];
  const RATES: readonly [at: number, name: string][] = [
    [1, 'rateLimit'],
    [5, 'groups.rateLimit'],
  ];
  it.each(PARTS.flatMap((parts) => RATES.map(([at, name]) => ({ at, name, parts }))))(
    'from argument $at on is refused as $name: $parts',
    async ({ at, name, parts: [limit, period, burst] }) => {
      const q = testQueue();
      const call = q.scripts.limits.set({ maxRunning: 2 });
      const args = call.args.map((arg, i) => ({ [at]: limit, [at + 1]: period, [at + 2]: burst })[i] ?? arg);
      const reply = await expectUnchanged(q, () => q.run({ ...call, args, decode: (given: unknown) => given }));
      expect(reply).toBe(name);
    },
  );
});

it('keeps what was spent of the rate of the code, while other limits are set that have none', async () => {
  const q = testQueue({ rateLimit: { limit: 1, periodMs: HOUR } });
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  await q.addAll('a', 'b');
  expect(ids(await q.claim(1))).toEqual(['a']);
  await q.run(q.scripts.limits.set({ maxRunning: 5 }));
  await q.run(q.scripts.limits.clear());
  expect(ids(await q.claim(1))).toEqual([]);
});
