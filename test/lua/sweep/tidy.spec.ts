import { describe, expect, it } from '@jest/globals';
import { cutScript } from '../../support/queue/cut-script.js';
import {
  expectUnchanged,
  queueOn,
  testQueue,
  type TestQueue,
  queueWith,
  claimedJob,
} from '../../support/queue/queue-state.js';
import { HOUR, testSchedules } from '../../support/queue/schedules.js';

/** The member that lua/lib/group/padding adds for a moment. */
const FILLER = '-'.repeat(257);

const SETS_OF_GROUPS = ['turns', 'gated', 'finishes', 'heads', 'depths'];

/** Returns which sets of groups have the filler. */
async function setsWithFiller({ redis, keys }: TestQueue): Promise<string[]> {
  const found = await Promise.all(
    SETS_OF_GROUPS.map(async (set) => ((await redis.zscore(`${keys.groupsPrefix}${set}`, FILLER)) ? [set] : [])),
  );
  const inEnds = (await redis.hexists(`${keys.groupsPrefix}ends`, FILLER)) ? ['ends'] : [];
  return [...found.flat(), ...inEnds];
}

const unfinished = (key: string) => ({ unique: key, unique_for: 'unfinished' });

describe('sweep/tidy.lua', () => {
  it('changes nothing on an empty queue', async () => {
    const q = testQueue();
    expect(await expectUnchanged(q, () => q.run(q.scripts.sweep.tidy({ limit: 100 })))).toEqual({
      more: false,
      dropped: 0,
      looksAtKept: false,
      looksAtStreams: false,
    });
  });

  it('says that kept results are to be looked at, for one as for several', async () => {
    const q = testQueue();
    q.broken = true;
    for (const id of ['a', 'b', 'c']) {
      await q.redis.zadd(q.keys.keptResults, 1, id);
      expect(await q.run(q.scripts.sweep.tidy({ limit: 100 }))).toMatchObject({ looksAtKept: true });
    }
  });

  it.each([
    ['no limit', {}, 0],
    ['a rate', { rateLimit: { limit: 1, periodMs: HOUR, burst: 1 } }, 1],
  ])(
    'forgets a rest that is over, so that a queue with %s keeps this many settings',
    async (_what, limits, kept) => {
      const q = testQueue();
      if (kept > 0) await q.run(q.scripts.limits.set(limits));
      await q.addAll('a', 'b');
      const [job] = await q.claim(1);
      await q.run(q.scripts.release([{ ...job!, reason: 'rate_limited', delayMs: HOUR }]));
      await q.claim(1);
      await q.run(q.scripts.sweep.tidy({ limit: 100 }));
      expect(await q.redis.hexists(q.keys.settings, 'rests_until_ms')).toBe(1);
      const { limited } = (await q.run(q.scripts.stats())).totals;
      await q.redis.hset(q.keys.settings, 'rests_until_ms', 1, 'timer_until_ms', 1);
      await q.run(q.scripts.sweep.tidy({ limit: 100 }));
      expect(await q.redis.exists(q.keys.settings)).toBe(kept);
      expect(limited).toBe(1);
      expect((await q.run(q.scripts.stats())).totals.limited).toBe(1);
    },
  );

  it('drops what a claim of many groups leaves in their sets where it breaks off', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `g${10 + i}`);
    const left = new Set<string>();
    let isCut = true;
    for (let n = 1; isCut; n++) {
      const q = testQueue();
      q.broken = true;
      await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
      const jobs = names.map((group) => ({
        id: group,
        payload: '{}',
        options: { group, worker: `{"group":"${group}"}` },
      }));
      await q.run(q.scripts.enqueue(jobs.map((job) => ({ ...job, name: q.name }))));
      isCut = await cutScript(q.redis, q.claimCall(names.length), n);
      (await setsWithFiller(q)).forEach((set) => left.add(set));
      await q.run(q.scripts.sweep.tidy({ limit: 100 }));
      expect(await setsWithFiller(q)).toEqual([]);
    }
    expect([...left].toSorted()).toEqual(['depths', 'ends']);
  });

  it('drops the filler from each set of groups', async () => {
    const q = testQueue();
    q.broken = true;
    for (const set of SETS_OF_GROUPS) await q.redis.zadd(`${q.keys.groupsPrefix}${set}`, 0, FILLER);
    await q.redis.hset(`${q.keys.groupsPrefix}ends`, FILLER, '');
    await q.run(q.scripts.sweep.tidy({ limit: 100 }));
    expect(await q.snapshot()).toEqual({});
  });

  it.each(['completed', 'failed', 'cancelled'] as const)(
    'drops the oldest ids of %s whose hash has expired, up to the first that lives',
    async (history) => {
      const q = testQueue();
      q.broken = true; // hashes without a place
      await q.redis.rpush(q.keys[history], 'new', 'gone-3', 'live', 'gone-2', 'gone-1');
      await q.redis.hset(q.keys.job('live'), 'status', history);
      expect(await q.run(q.scripts.sweep.tidy({ limit: 100 }))).toMatchObject({ more: false });
      expect(await q.redis.lrange(q.keys[history], 0, -1)).toEqual(['new', 'gone-3', 'live']);
    },
  );

  it.each(['completed', 'cancelled'] as const)(
    'drops the oldest ids of %s that are in use again, also where they have ended again',
    async (history) => {
      const q = testQueue();
      const end = async (id: string) => {
        await q.add(id);
        const claimed = history === 'completed' ? await q.claim(1) : [];
        await q.run(q.scripts.complete(claimed.map((job) => ({ ...job, result: '1' }))));
        await q.run(q.scripts.cancel({ id })); // of a job that has completed it changes nothing
      };
      for (const id of ['ends', 'waits']) await end(id);
      await q.redis.del(q.keys.job('ends'), q.keys.job('waits'));
      for (const id of ['other', 'ends']) await end(id);
      await q.add('waits');
      expect(await q.redis.lrange(q.keys[history], 0, -1)).toEqual(['ends', 'other', 'waits', 'ends']);
      expect(await q.run(q.scripts.sweep.tidy({ limit: 100 }))).toMatchObject({ more: false });
      expect(await q.redis.lrange(q.keys[history], 0, -1)).toEqual(['ends', 'other']);
    },
  );

  it('frees the unique keys of jobs that a client of the pattern has ended, or whose hash is gone, and no other', async () => {
    const q = testQueue();
    await q.add('done', unfinished('done'));
    await q.add('gone', unfinished('gone'));
    await q.add('runs', unfinished('runs'));
    await q.claim(3);
    await q.add('waits', unfinished('waits'));
    await q.add('later', { ...unfinished('later'), delay_ms: 60_000 });
    await q.add('window', { unique: 'window', unique_for: 60_000 });
    await q.redis.hset(q.keys.unique, 'wait', 'waits'); // the job holds a key that begins with this one
    // As the pattern's own client completes: without a look at the key.
    await q.redis.zrem(q.keys.claims, 'done', 'gone');
    await q.redis.hset(q.keys.job('done'), 'status', 'completed', 'claim_token', '');
    await q.redis.del(q.keys.job('gone'));
    expect(await q.run(q.scripts.sweep.tidy({ limit: 100 }))).toMatchObject({ more: false });
    expect((await q.redis.hkeys(q.keys.unique)).toSorted()).toEqual(['later', 'runs', 'waits', 'window']);
    q.broken = true; // an ended job that is in no history
  });

  it('I4: looks at a bounded number, and says that more is left', async () => {
    const q = testQueue();
    await q.redis.rpush(q.keys.completed, 'a', 'b', 'c');
    expect(await q.run(q.scripts.sweep.tidy({ limit: 2 }))).toMatchObject({ more: true });
    expect(await q.redis.llen(q.keys.completed)).toBe(1);
    expect(await q.run(q.scripts.sweep.tidy({ limit: 2 }))).toMatchObject({ more: false });
    expect(await q.redis.exists(q.keys.completed)).toBe(0);
  });

  it('I4: applies a cap that was lowered without another job that ends, in bounded slices', async () => {
    const before = testQueue();
    const ids = ['a', 'b', 'c', 'd', 'e'];
    for (const id of ids) {
      const job = await before.addAndClaim(id);
      await before.complete(job, '1');
      await before.addAll(`x${id}`);
      await before.run(before.scripts.cancel({ id: `x${id}` }));
      const dying = await before.addAndClaim(`f${id}`);
      await before.fail(dying, { final: true });
    }
    const caps = { completedHistory: 1, cancelledHistory: 2, failedHistory: 1, deadLetterCap: 2 };
    const q = queueOn(before.redis, caps, before.name);
    expect(await q.run(q.scripts.sweep.tidy({ limit: 2 }))).toMatchObject({ more: true });
    expect(await q.run(q.scripts.sweep.tidy({ limit: 2 }))).toMatchObject({ more: false });
    expect(await q.redis.lrange(q.keys.completed, 0, -1)).toEqual(['e']);
    expect(await q.redis.lrange(q.keys.cancelled, 0, -1)).toEqual(['xe', 'xd']);
    expect(await q.redis.llen(q.keys.failed)).toBe(1);
    expect(await q.redis.zcard(q.keys.dead)).toBe(2);
    // As those that a completion pushes off: long enough to fetch a result that was just announced.
    expect(await q.redis.pttl(q.keys.job('a'))).toBeLessThanOrEqual(10_000);
    expect(await q.redis.exists(q.keys.job('a'), ...ids.map((id) => q.keys.job(`f${id}`)))).toBe(3);
  });

  it('reports once a minute how many dead letters the cap deleted, whoever deleted them', async () => {
    const q = testQueue({ deadLetterCap: 1 });
    const report = async () => (await q.run(q.scripts.sweep.tidy({ limit: 100 }))).dropped;
    const fails = async (...ids: string[]) => {
      for (const id of ids) {
        await q.bury(id);
      }
    };
    await fails('a');
    expect(await report()).toBe(0);
    const before = await q.run(q.scripts.stats());
    expect([before.droppedAt, before.totals.dropped]).toEqual([undefined, undefined]);
    await fails('b', 'c');
    expect(await report()).toBe(2);
    await fails('d');
    expect(await report()).toBe(0); // within a minute
    await q.redis.hset(q.keys.sweep, 'dropped_reported_at_ms', 1);
    expect(await report()).toBe(1);
    const { droppedAt, totals, failed } = await q.run(q.scripts.stats());
    expect([totals.dropped, failed]).toEqual([3, 1]);
    expect(droppedAt!.getTime()).toBeGreaterThan(Date.now() - 60_000);
  });

  it('keeps the announcements of workers for jobs that wait in groups, and for open batches', async () => {
    for (const options of [{ group: 'g' }, { batch: 'b' }]) {
      const q = testQueue();
      q.broken = true; // of the batch only its place is there
      await q.run(
        q.scripts.workers.register({
          worker: 'w1',
          serves: true,
          handlers: [{ name: q.name, maxAttempts: 7, maxCrashes: 1 }],
        }),
      );
      await ('group' in options ? q.add('a', options) : q.redis.zadd(q.keys.batches, 9e15, 'b'));
      await q.run(q.scripts.workers.register({ worker: 'w1', serves: false }));
      await q.run(q.scripts.sweep.tidy({ limit: 1_000 }));
      expect(await q.redis.hget(q.keys.handlerLimits, q.name)).toBe('7:1');
    }
  });

  it('leaves nothing but the counters where nothing is left to do', async () => {
    const { q, job } = await claimedJob('a');
    await q.run(
      q.scripts.workers.register({
        worker: 'worker-1',
        serves: true,
        handlers: [{ name: 'email', maxAttempts: 1, maxCrashes: 1 }],
      }),
    );
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
    await q.run(q.scripts.sweep.tidy({ limit: 100 }));
    expect(Object.keys(await q.snapshot())).toEqual(expect.arrayContaining(['sweep', 'handler_limits', 'workers']));
    await q.complete(job, '1');
    await q.run(q.scripts.sweep.tidy({ limit: 100 }));
    expect(await q.redis.exists(q.keys.sweep, q.keys.handlerLimits)).toBe(2); // a worker may claim at any time
    await q.run(q.scripts.workers.register({ worker: 'worker-1', serves: false }));
    await q.redis.del(q.keys.job('a'));
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
    await q.run(q.scripts.sweep.tidy({ limit: 100 }));
    const left = Object.keys(await q.snapshot()).filter((key) => !key.startsWith('batch:'));
    expect(left).toEqual(['sequence', 'stats']);
  });

  it('frees unique keys whose time is over', async () => {
    const q = testQueue();
    await q.add('a', { unique: 'over', unique_for: 60_000 });
    await q.add('b', { unique: 'held', unique_for: 60_000 });
    await q.redis.zadd(q.keys.uniqueExpiries, 1, 'over');
    await q.run(q.scripts.sweep.tidy({ limit: 100 }));
    expect(await q.redis.hgetall(q.keys.unique)).toEqual({ held: 'b' });
    expect(await q.ranked(q.keys.uniqueExpiries)).toEqual(['held']);
  });

  it('frees a key whose time is over beside many that are not', async () => {
    const q = testQueue();
    for (let i = 0; i < 50; i++) await q.add(`held-${i}`, unfinished(`held-${i}`));
    await q.add('a', { unique: 'over', unique_for: 60_000 });
    await q.redis.zadd(q.keys.uniqueExpiries, 1, 'over');
    await q.run(q.scripts.sweep.tidy({ limit: 1 }));
    expect(await q.redis.hexists(q.keys.unique, 'over')).toBe(0);
  });

  it('leaves a key whose window is over to a job that holds it until it ends', async () => {
    const { q, job } = await claimedJob('a', { unique: 'k', unique_for: 60_000 });
    await q.complete(job);
    await q.redis.zadd(q.keys.uniqueExpiries, 1, 'k');
    await q.add('b', { unique: 'k', unique_for: 'unfinished' });
    await q.run(q.scripts.sweep.tidy({ limit: 100 }));
    expect(await q.redis.hgetall(q.keys.unique)).toEqual({ k: 'b' });
  });

  it('with a pace does nothing where such a call began less long ago, by the clock of the server', async () => {
    const q = testQueue();
    await q.add('waits', { delay_ms: HOUR });
    const tidied = async (paceMs: number) => {
      await q.redis.rpush(q.keys.completed, 'gone');
      expect(await q.run(q.scripts.sweep.tidy({ limit: 100, paceMs }))).toMatchObject({ more: false });
      return (await q.redis.del(q.keys.completed)) === 0;
    };
    expect([await tidied(HOUR), await tidied(HOUR), await tidied(0)]).toEqual([true, false, true]);
    const now = await q.now();
    await q.redis.hset(q.keys.sweep, 'tidied_at_ms', now - HOUR);
    expect([await tidied(HOUR), await tidied(HOUR)]).toEqual([true, false]);
    await q.redis.hset(q.keys.sweep, 'tidied_at_ms', now + HOUR); // before a failover to a clock that is late
    expect([await tidied(HOUR), await tidied(HOUR)]).toEqual([true, false]);
  });

  it('deletes dead letters past their age, where they have one', async () => {
    const forever = testQueue({ deadLetterAgeMs: 0 });
    const aged = testQueue({ deadLetterAgeMs: 60_000 });
    for (const q of [forever, aged]) {
      for (const id of ['old', 'new']) {
        const job = await q.addAndClaim(id);
        await q.fail(job, { final: true });
      }
      await q.redis.zadd(q.keys.dead, (await q.now()) - 70_000, 'old');
      await q.run(q.scripts.sweep.tidy({ limit: 100 }));
    }
    expect(await forever.ranked(forever.keys.dead)).toEqual(['old', 'new']);
    expect(await aged.ranked(aged.keys.dead)).toEqual(['new']);
    expect(await aged.redis.exists(aged.keys.job('old'))).toBe(0);
  });

  it('forgets workers that were silent for five minutes', async () => {
    const q = testQueue();
    await q.redis.zadd(q.keys.workers, (await q.now()) - 301_000, 'silent', (await q.now()) - 200_000, 'quiet');
    await q.run(q.scripts.sweep.tidy({ limit: 100 }));
    expect(await q.ranked(q.keys.workers)).toEqual(['quiet']);
  });

  it('forgets a name that no worker announced for two days, with the limits of its handler', async () => {
    const q = testQueue();
    const handlers = Array.from({ length: 5 }, (_, i) => ({ name: `n${i}`, maxAttempts: 1, maxCrashes: 1 }));
    await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers }));
    await q.addAll('a'); // else the queue is forgotten
    const old = (await q.now()) - 2 * 86_400_000 - 1;
    await q.redis.zadd(q.keys.names, old, 'n0', old, 'n1', old, 'n2');
    expect(await q.run(q.scripts.sweep.tidy({ limit: 2 }))).toMatchObject({ more: true });
    expect(await q.redis.hlen(q.keys.handlerLimits)).toBe(3);
    await q.run(q.scripts.sweep.tidy({ limit: 2 }));
    expect((await q.redis.hkeys(q.keys.handlerLimits)).toSorted()).toEqual(['n3', 'n4']);
    expect(await q.ranked(q.keys.names)).toEqual(['n3', 'n4']);
  });

  it('removes a schedule that no code has declared for a day', async () => {
    const { q, schedules } = testSchedules();
    await schedules.put(schedules.define('gone'), 'w1');
    await schedules.silence('gone', 25 * HOUR);
    expect(await q.run(q.scripts.sweep.tidy({ limit: 10 }))).toMatchObject({ more: false });
    expect(await q.snapshot()).toEqual({});
    await schedules.put(schedules.define('quiet'), 'w1');
    await schedules.put(schedules.define('called'));
    await schedules.silence('quiet', 23 * HOUR);
    await expectUnchanged(q, () => q.run(q.scripts.sweep.tidy({ limit: 10 })));
  });
});

describe('sweep/tidy.lua: dead letters whose hashes are gone', () => {
  it('are cleared, slice by slice: a purge by a client of the pattern leaves their ids', async () => {
    const q = await queueWith(...Array.from({ length: 25 }, (_, i) => `job-${i}`));
    const error = { name: 'Error', message: 'no' };
    const jobs = await q.claim(25);
    await q.run(q.scripts.fail(jobs.map((job) => ({ ...job, error, final: true, backoffMs: 0 }))));
    await q.redis.del(...Array.from({ length: 24 }, (_, i) => q.keys.job(`job-${i}`)), q.keys.failed);
    expect((await q.run(q.scripts.stats())).failed).toBe(25);
    while ((await q.run(q.scripts.sweep.tidy({ limit: 10 }))).more) {
      // until nothing is left
    }
    await q.run(q.scripts.sweep.tidy({ limit: 10 }));
    expect(await q.ranked(q.keys.dead)).toEqual(['job-24']);
    expect((await q.run(q.scripts.stats())).failed).toBe(1);
  });

  it('are found behind others, a slice at a time', async () => {
    const q = testQueue();
    await q.addAll(...Array.from({ length: 10 }, (_, i) => `job-${i}`));
    for (const job of await q.claim(10)) await q.fail(job, { final: true });
    const [last] = await q.redis.zrange(q.keys.dead, '-1', '-1');
    await q.redis.del(q.keys.job(last!));
    await q.redis.lrem(q.keys.failed, 0, last!);
    for (let slices = 0; slices < 5; slices++) await q.run(q.scripts.sweep.tidy({ limit: 2 }));
    expect(await q.redis.zcard(q.keys.dead)).toBe(9);
  });
});
