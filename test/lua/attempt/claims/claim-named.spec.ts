// A claim that takes only the names that its worker handles: the jobs it takes and leaves, and its cost.
import { describe, expect, it } from '@jest/globals';
import type { OnlyNames } from '#queue/store/attempt-forms.js';
import { expectUnchanged, testQueue, type TestQueue } from '../../../support/queue/queue-state.js';

const HOUR = 3_600_000;

function only(names: readonly string[], cursor = 0): { only: OnlyNames } {
  return { only: { limits: names.map((name) => ({ name, maxAttempts: 3, maxCrashes: 3 })), cursor } };
}

/** Adds jobs of the given names, with ids `a-0`, `b-1` …; the first is the next to be claimed. */
async function addNamed(q: TestQueue, ...names: string[]): Promise<string[]> {
  const jobs = names.map((name, i) => ({ id: `${name}-${i}`, name, payload: '{}' }));
  await q.run(q.scripts.enqueue(jobs));
  return jobs.map(({ id }) => id);
}

const handlersOf = (...names: string[]) => names.map((name) => ({ name, maxAttempts: 3, maxCrashes: 3 }));

/** Ages the announcement of the names by `ms`. */
async function ageNames(q: TestQueue, ms: number): Promise<void> {
  for (const name of await q.ranked(q.keys.names)) {
    await q.redis.zincrby(q.keys.names, -ms, name);
  }
}

describe('a claim of certain names', () => {
  it('takes their jobs in their order and leaves the others in their places, untouched', async () => {
    const q = testQueue();
    await addNamed(q, 'b', 'a', 'b', 'a', 'b');
    const before = await q.job('b-0');
    const { jobs, left } = await q.run(q.claimCall(5, only(['a'])));
    expect(jobs.map(({ id }) => id)).toEqual(['a-1', 'a-3']);
    expect(await q.pending()).toEqual(['b-0', 'b-2', 'b-4']);
    expect(await q.job('b-0')).toEqual(before);
    expect(left).toEqual({ cursor: -1, elsewhere: false, unserved: ['b'] });
  });

  it('takes as many as fit its bytes, and the first however large it is', async () => {
    const q = testQueue();
    await q.add('a', {}, JSON.stringify('x'.repeat(600)));
    await q.add('b', {}, JSON.stringify('x'.repeat(600)));
    const { jobs, isFull, left } = await q.run(q.claimCall(5, { ...only([q.name]), mostBytes: 1_000 }));
    expect([jobs.map(({ id }) => id), isFull]).toEqual([['a'], true]);
    expect(await q.pending()).toEqual(['b']);
    expect(left!.cursor).toBe(0); // from there on the next claim finds the other one
  });

  it('takes the job that fills its bytes to the last one', async () => {
    const q = testQueue();
    for (const id of ['a', 'b', 'c']) await q.add(id, {}, '"12345678"');
    const { jobs, isFull } = await q.run(q.claimCall(5, { ...only([q.name]), mostBytes: 20 }));
    expect([jobs.map(({ id }) => id), isFull]).toEqual([['a', 'b'], true]);
  });

  it("finds the name of a foreign producer's job in its payload, and writes it", async () => {
    const q = testQueue();
    const payloads = [
      '{"kind":"fax"}',
      '{"kind":"mail"}',
      '{"kind":5}',
      'no JSON',
      `{"kind":"fax","long":"${'x'.repeat(5_000)}"}`,
    ];
    for (const [i, payload] of payloads.entries()) {
      await q.run(q.scripts.enqueue([{ id: `job-${i}`, name: '', payload }]));
      await q.redis.hdel(q.keys.job(`job-${i}`), 'name');
    }
    const { jobs, refused, left } = await q.run(q.claimCall(9, only(['mail'])));
    expect(jobs.map(({ id }) => id)).toEqual(['job-1', 'job-2', 'job-4']);
    expect(refused.map(({ id }) => id)).toEqual(['job-3']);
    expect(left!.unserved).toEqual(['fax']);
    expect(await q.job('job-0')).toMatchObject({ name: 'fax', foreign: '1', status: 'pending' });
    expect(await q.job('job-1')).not.toHaveProperty('name');
    q.broken = true; // until the refused one is settled
  });

  it('finds an urgent job behind many urgent ones that it leaves', async () => {
    const q = testQueue();
    const names = [...Array<string>(150).fill('b'), 'a'];
    const jobs = names.map((name, i) => ({ id: `${name}-${i}`, name, payload: '{}', options: { priority: 5 } }));
    await q.run(q.scripts.enqueue(jobs));
    const front = await q.run(q.claimCall(1, only(['a'], -1)));
    expect(front.jobs).toEqual([]);
    const behind = await q.run(q.claimCall(1, only(['a'])));
    expect(behind.jobs.map(({ id }) => id)).toEqual(['a-150']);
  });

  it('takes a job without a name and a job whose hash is gone, as any claim does', async () => {
    const q = testQueue();
    await addNamed(q, 'a', 'b');
    await q.redis.hdel(q.keys.job('a-0'), 'name');
    await q.redis.del(q.keys.job('b-1'));
    const { jobs, refused } = await q.run(q.claimCall(5, only(['x'])));
    expect(jobs.map(({ id }) => id)).toEqual(['a-0']);
    expect(refused).toMatchObject([{ id: 'b-1', error: { name: 'BrokenJob' } }]);
    q.broken = true; // until the refused one is settled
  });

  it('I3: repeated after a lost reply it gives the same jobs and changes nothing', async () => {
    const q = testQueue();
    await addNamed(q, 'b', 'a');
    const call = q.claimCall(5, { ...only(['a']), token: 'same' });
    const first = await q.run(call);
    const again = await expectUnchanged(q, () => q.run(call));
    expect(again.jobs.map(({ id, fence }) => [id, fence])).toEqual(first.jobs.map(({ id, fence }) => [id, fence]));
  });

  it('takes urgent jobs first and leaves urgent ones of other names', async () => {
    const q = testQueue();
    await addNamed(q, 'a');
    for (const [id, name] of [
      ['b-high', 'b'],
      ['a-high', 'a'],
    ] as const) {
      await q.run(q.scripts.enqueue([{ id, name, payload: '{}', options: { priority: 5 } }]));
    }
    const { jobs } = await q.run(q.claimCall(5, only(['a'])));
    expect(jobs.map(({ id }) => id).toSorted()).toEqual(['a-0', 'a-high']);
    expect(await q.ranked(q.keys.prioritized)).toEqual(['b-high']);
  });

  it('refuses a job whose name is too long, also where the name ends with that of the job before', async () => {
    const q = testQueue();
    const [, long] = await addNamed(q, 'mail', 'mail');
    await q.redis.hset(q.keys.job(long!), 'name', `${'x'.repeat(1_030)}mail`);
    expect((await q.claim(2)).map(({ id }) => id)).toEqual(['mail-0']);
  });

  it('takes nothing from a paused queue', async () => {
    const q = testQueue();
    await addNamed(q, 'a');
    await q.run(q.scripts.pause());
    expect((await q.run(q.claimCall(5, only(['a'])))).jobs).toEqual([]);
  });

  it('returns that a live worker handles the jobs it left, and wakes that worker', async () => {
    const q = testQueue();
    await addNamed(q, 'b');
    await q.run(q.scripts.workers.register({ worker: 'w2', serves: true, handlers: handlersOf('b') }));
    await q.takeWake();
    const { left } = await q.run(q.claimCall(1, only(['a'])));
    expect(left).toEqual({ cursor: -1, elsewhere: true, unserved: [] });
    expect(await q.takeWake()).toBe(true);
    await ageNames(q, 31_000);
    expect((await q.run(q.claimCall(1, only(['a'])))).left).toEqual({
      cursor: -1,
      elsewhere: false,
      unserved: ['b'],
    });
    expect(await q.takeWake()).toBe(false);
  });
});

describe('a job whose name no live worker handles', () => {
  it('stays in place until unhandledAgeMs is over, then is refused with the known workers', async () => {
    const q = testQueue({ unhandledAgeMs: HOUR });
    await addNamed(q, 'fax');
    await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers: handlersOf('mail', 'sms') }));
    const look = () => q.run(q.claimCall(1, only(['mail', 'sms'])));
    expect((await look()).refused).toEqual([]);
    await q.redis.hset(q.keys.job('fax-0'), { ready_at_ms: (await q.now()) - HOUR + 60_000 });
    expect((await look()).refused).toEqual([]);
    await q.redis.hset(q.keys.job('fax-0'), { ready_at_ms: (await q.now()) - HOUR - 60_000, unhandled: 2 });
    const { refused } = await look();
    expect(refused).toMatchObject([{ id: 'fax-0', error: { name: 'JobUnhandled' } }]);
    const { message } = refused[0]!.error;
    expect(message).toContain('No live worker handles the name "fax": the job waited for one for 61 minutes');
    expect(message).toContain('released 2 times');
    expect(message).toContain('Live workers of this queue: 1; they announced "sms", "mail"');
    await q.run(q.scripts.fail(refused.map((job) => ({ ...job, final: true, backoffMs: 0 }))));
    expect(await q.job('fax-0')).toMatchObject({ status: 'failed', attempts: '0' });
  });

  it('counts from when a worker last announced the name', async () => {
    const q = testQueue({ unhandledAgeMs: HOUR });
    await addNamed(q, 'fax');
    await q.redis.hset(q.keys.job('fax-0'), { ready_at_ms: 1 });
    await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers: handlersOf('fax') }));
    await ageNames(q, HOUR - 60_000);
    expect((await q.run(q.claimCall(1, only(['mail'])))).refused).toEqual([]);
    await ageNames(q, 120_000);
    expect((await q.run(q.claimCall(1, only(['mail'])))).refused).toHaveLength(1);
    q.broken = true; // until the refused one is settled
  });

  it('waits forever with unhandledAgeMs 0', async () => {
    const q = testQueue({ unhandledAgeMs: 0 });
    await addNamed(q, 'fax');
    await q.redis.hset(q.keys.job('fax-0'), { ready_at_ms: 1 });
    expect((await q.run(q.claimCall(1, only(['mail'])))).refused).toEqual([]);
  });

  it('of a foreign producer also waits while clients of the pattern claim jobs here: they announce nothing', async () => {
    const q = testQueue({ unhandledAgeMs: HOUR });
    await addNamed(q, 'fax');
    await q.redis.hset(q.keys.job('fax-0'), { foreign: 1, unhandled_at_ms: 1 });
    await q.redis.hset(q.keys.sweep, 'foreign_seen_at_ms', (await q.now()) - HOUR + 60_000);
    expect((await q.run(q.claimCall(1, only(['mail'])))).refused).toEqual([]);
    await q.redis.hset(q.keys.sweep, 'foreign_seen_at_ms', (await q.now()) - HOUR - 60_000);
    expect((await q.run(q.claimCall(1, only(['mail'])))).refused).toHaveLength(1);
    q.broken = true; // until the refused one is settled
  });
});

const manyJobs = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `${name}-${i}`, name, payload: '{}' }));

async function behindTenThousand(): Promise<TestQueue> {
  const q = testQueue();
  q.broken = true; // it is not, but checking each job takes long
  for (let i = 0; i < 20; i++) {
    await q.run(q.scripts.enqueue(manyJobs(`b${i}`, 500)));
  }
  await q.run(q.scripts.enqueue([...manyJobs('a', 1), ...manyJobs('c', 200)]));
  return q;
}

/** Counts the commands that one call makes inside its script. */
async function commandsOf(q: TestQueue, action: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    const info = await q.redis.info('commandstats');
    return [...info.matchAll(/^cmdstat_(?:hget|hmget|lrange|zrange|zscore|lrem|zrem):calls=(\d+)/gm)]
      .map(([, calls]) => Number(calls))
      .reduce((sum, calls) => sum + calls, 0);
  };
  const before = await count();
  await action();
  return (await count()) - before;
}

describe('I4: with 10,000 jobs of another name in front', () => {
  it('each claim looks at a bounded part, and a pass over all of them finds the job behind', async () => {
    const q = await behindTenThousand();
    let cursor = 0;
    let claims = 0;
    const found: string[] = [];
    while (cursor !== -1) {
      const { jobs, left } = await q.run(q.claimCall(1, only(['a'], cursor)));
      found.push(...jobs.map(({ id }) => id));
      cursor = jobs.length > 0 ? -1 : left!.cursor;
      claims++;
    }
    expect(found).toEqual(['a-0']);
    expect(claims).toBeLessThanOrEqual(21);
    // The other suites share the server, so this is a bound and no exact count.
    const spent = await commandsOf(q, () => q.run(q.claimCall(1, only(['a'], 0))));
    expect(spent).toBeLessThan(5_000);
    expect(await q.redis.llen(q.keys.pending)).toBe(10_200);
  });

  it('finds a job of a priority behind two slices of others', async () => {
    const q = testQueue();
    const jobs = Array.from({ length: 1_200 }, (_, i) => {
      return { id: `${i}`, name: i === 1_150 ? 'a' : 'b', payload: '{}', options: { priority: 1 } };
    });
    await q.run(q.scripts.enqueue(jobs));
    const cursors = [0];
    while (cursors.at(-1)! >= 0) {
      const { jobs: taken, left } = await q.run(q.claimCall(1, only(['a'], cursors.at(-1))));
      cursors.push(taken.length > 0 ? -1 : left!.cursor);
    }
    expect(cursors).toEqual([0, 500, 1_000, -1]);
    expect(await q.status('1150')).toBe('processing');
  });

  it('finds each job behind hundreds of groups whose first jobs have other names, within some claims', async () => {
    const q = testQueue();
    const jobs = Array.from({ length: 400 }, (_, i) => {
      const group = `g${String(i).padStart(3, '0')}`;
      return { id: group, name: i === 130 || i === 380 ? 'a' : 'b', payload: '{}', options: { group } };
    });
    await q.run(q.scripts.enqueue(jobs));
    const found: string[] = [];
    for (let claims = 0; claims < 40 && found.length < 2; claims++) {
      found.push(...(await q.claim(1, only(['a']))).map(({ id }) => id));
    }
    expect(found.toSorted()).toEqual(['g130', 'g380']);
  });

  it('finds the newest job at once', async () => {
    const q = await behindTenThousand();
    await q.run(q.scripts.enqueue([{ id: 'new', name: 'a', payload: '{}' }]));
    const { jobs } = await q.run(q.claimCall(1, only(['a'], -1)));
    expect(jobs.map(({ id }) => id)).toEqual(['new']);
  });
});
