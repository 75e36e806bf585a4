import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import { testQueue, type TestQueue, queueWith } from '../support/queue/queue-state.js';

const error = { name: 'Error', message: 'no' };

/** Writes a string to the key of the job, as a stray SET would. */
async function corrupt(q: TestQueue, id: string): Promise<void> {
  await q.redis.del(q.keys.job(id));
  await q.redis.set(q.keys.job(id), 'not a hash');
  q.broken = true;
}

async function deadLetter(q: TestQueue, id: string): Promise<void> {
  const job = await q.addAndClaim(id);
  await q.fail(job, { final: true });
}

describe('I7: a job key that is not a hash stops no batch', () => {
  it('claim refuses it and hands out the rest', async () => {
    const q = await queueWith('bad', 'good');
    await corrupt(q, 'bad');
    const { jobs, refused } = await q.run(q.claimCall(2));
    expect(jobs.map((job) => job.id)).toEqual(['good']);
    await q.run(q.scripts.fail(refused.map((job) => ({ ...job, final: true, backoffMs: 0 }))));
    expect(await q.ranked(q.keys.dead)).toEqual(['bad']);
    expect(await q.field('bad', 'last_error')).toMatch(/hash is missing/);
  });

  it.each(['nan', 'inf', '-inf', '-5', '1e300'])(
    'claim takes a cost of %s for a number in bounds',
    async (cost) => {
      const q = testQueue();
      await q.run(q.scripts.limits.set({ rateLimit: { limit: 100, periodMs: 1_000, burst: 100 } }));
      await q.run(
        q.scripts.groups.set({ name: 'g', limits: { rateLimit: { limit: 100, periodMs: 1_000, burst: 100 } } }),
      );
      for (const id of ['a', 'b']) await q.add(id, { group: 'g', cost: 1 });
      await q.add('plain', { cost: 1 });
      for (const id of ['a', 'plain']) await q.redis.hset(q.keys.job(id), 'cost', cost);
      for (let i = 0; i < 3; i++) await q.claim(1);
      expect(await q.redis.zcard(q.keys.claims)).toBeGreaterThan(0);
      for (const set of ['turns', 'finishes']) {
        const found = await q.redis.zrange(`${q.keys.groupsPrefix}${set}`, '0', '-1', 'WITHSCORES');
        for (let i = 1; i < found.length; i += 2) expect(Math.abs(Number(found[i]))).toBeLessThanOrEqual(2e6);
      }
      for (const key of [q.keys.settings, `${q.keys.groupsPrefix}state:g`]) {
        expect((await q.redis.hget(key, 'rate_tat_us')) ?? '0').toMatch(/^\d+$/);
      }
    },
  );

  it('promote moves it along with the rest', async () => {
    const q = testQueue();
    await q.add('bad', { delay_ms: 60_000 });
    await q.add('good', { delay_ms: 60_000 });
    await q.makeDue('bad', 'good');
    await corrupt(q, 'bad');
    expect(await q.run(q.scripts.sweep.promote({ limit: 10 }))).toBe(2);
    expect(await q.pending()).toEqual(['bad', 'good']);
  });

  it.each(['complete', 'fail', 'release'] as const)('%s settles the rest', async (verb) => {
    const q = await queueWith('bad', 'good');
    const claims = await q.claim(2);
    await corrupt(q, 'bad');
    if (verb === 'complete') {
      expect((await q.run(q.scripts.complete(claims.map((job) => ({ ...job, result: '1' }))))).lost).toEqual([0]);
      expect(await q.status('good')).toBe('completed');
    } else if (verb === 'fail') {
      const failures = claims.map((job) => ({ ...job, error, final: true, backoffMs: 0 }));
      expect(await q.run(q.scripts.fail(failures))).toEqual(['lost', 'failed']);
    } else {
      const releases = claims.map((job) => ({ ...job, reason: 'interruption' as const, delayMs: 0 }));
      expect(await q.run(q.scripts.release(releases))).toEqual(['lost', 'released']);
    }
  });

  it('extend extends the rest', async () => {
    const q = await queueWith('bad', 'good');
    const claims = await q.claim(2);
    await corrupt(q, 'bad');
    expect(await q.run(q.scripts.extend(claims))).toEqual({ lost: ['bad'], cancelRequested: [] });
  });

  it('reclaim leaves a dead letter that says so, and reclaims the rest', async () => {
    const q = await queueWith('bad', 'good');
    await q.claim(2);
    await q.expireClaims('bad', 'good');
    await corrupt(q, 'bad');
    const { reclaimed } = await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1_000_000, waitMs: 0 }));
    expect(reclaimed).toContainEqual({ id: 'bad', status: 'failed' });
    expect(reclaimed).toContainEqual({ id: 'good', status: 'pending', worker: 'worker-1' });
  });
});

describe('I7: a job key that is not a hash stops neither the sweep nor an operator', () => {
  it('adopt and tidy continue', async () => {
    const q = testQueue();
    await deadLetter(q, 'bad');
    await corrupt(q, 'bad');
    await q.redis.hset(q.keys.unique, 'key', 'bad');
    await q.redis.zadd(q.keys.uniqueExpiries, 1, 'key');
    await q.run(q.scripts.sweep.adoptForeign({ limit: 100 }));
    await q.run(q.scripts.sweep.tidy({ limit: 100 }));
    expect(await q.redis.hexists(q.keys.unique, 'key')).toBe(0);
  });

  it('redrive passes it over, and takes it out of the dead letters', async () => {
    const q = testQueue();
    await deadLetter(q, 'bad');
    await deadLetter(q, 'good');
    await corrupt(q, 'bad');
    expect(await q.run(q.scripts.deadLetters.redrive({ ids: ['bad', 'good'] }))).toBe(1);
    expect(await q.pending()).toEqual(['good']);
  });

  it.each([
    ['cancel', (q: TestQueue) => q.scripts.cancel({ id: 'bad' }), 'missing'],
    ['remove', (q: TestQueue) => q.scripts.remove({ id: 'bad' }), 'missing'],
    ['reschedule', (q: TestQueue) => q.scripts.reschedule({ id: 'bad', delayMs: 1 }), 'missing'],
  ] as const)('%s says that it is missing', async (_verb, call, answer) => {
    const q = await queueWith('bad');
    await corrupt(q, 'bad');
    expect(await q.run<unknown>(call(q))).toBe(answer);
  });

  it.each([
    ['progress', (q: TestQueue) => q.scripts.progress({ claim: { id: 'bad', token: 't' }, progress: '1' })],
    ['log', (q: TestQueue) => q.scripts.log({ claim: { id: 'bad', token: 't' }, keep: 10, lines: ['"line"'] })],
    ['name', (q: TestQueue) => q.scripts.setName({ id: 'bad', token: 't', name: 'n', options: {} })],
  ] as const)('%s says that the claim is not current', async (_verb, call) => {
    const q = await queueWith('bad');
    await corrupt(q, 'bad');
    expect(await q.run(call(q))).toBe(false);
  });

  it('stats, list and the list of dead letters look past it', async () => {
    const q = testQueue();
    await deadLetter(q, 'bad');
    await deadLetter(q, 'good');
    await q.addAll('waits');
    await corrupt(q, 'bad');
    await corrupt(q, 'waits');
    expect((await q.run(q.scripts.stats())).pending).toBe(1);
    expect((await q.run(q.scripts.list({ status: 'failed', offset: 0, limit: 10 }))).map(({ id }) => id)).toEqual([
      'good',
    ]);
    expect(await q.run(q.scripts.list({ status: 'pending', offset: 0, limit: 10 }))).toEqual([]);
  });
});

const failing = (final: boolean, backoffMs: number) => (q: TestQueue, job: ClaimedJob) =>
  q.run<unknown>(q.scripts.fail([{ ...job, error, final, backoffMs }]));
const releasing = (delayMs: number) => (q: TestQueue, job: ClaimedJob) =>
  q.run<unknown>(q.scripts.release([{ ...job, reason: delayMs ? 'snooze' : 'interruption', delayMs }]));
const reclaim = async (q: TestQueue) => {
  await q.expireClaims('job');
  return q.run<unknown>(q.scripts.sweep.reclaim({ limit: 10, gapMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }));
};

describe('a fail, release or reclaim that breaks off at a key of another type', () => {
  type Key =
    | 'pending'
    | 'prioritized'
    | 'scheduled'
    | 'dead'
    | 'failed'
    | 'cancelled'
    | 'unique'
    | 'stats'
    | 'wake';
  const own = { unique: 'k', unique_for: 'unfinished', max_attempts: 9 };
  const [retry, later, bury] = [failing(false, 0), failing(false, 60_000), failing(true, 0)];
  const cancel = { ...own, cancelled: true };

  it.each<[string, Key, (q: TestQueue, job: ClaimedJob) => Promise<unknown>, Record<string, unknown>, string]>([
    ['a retry', 'pending', retry, own, 'pending'],
    ['a retry', 'wake', retry, own, 'pending'],
    ['a retry', 'stats', retry, own, 'pending'],
    ['a retry with a priority', 'prioritized', retry, { ...own, priority: 1 }, 'pending'],
    ['a retry with a backoff', 'scheduled', later, own, 'pending scheduled'],
    ['a last failure', 'dead', bury, own, 'pending'],
    ['a last failure', 'failed', bury, own, 'failed'],
    ['a last failure', 'unique', bury, own, 'failed'],
    ['a last failure', 'stats', bury, own, 'failed'],
    ['a failure of a job to be cancelled', 'cancelled', retry, cancel, 'cancelled'],
    ['a failure of a job to be cancelled', 'unique', retry, cancel, 'cancelled'],
    ['a release', 'pending', releasing(0), own, 'pending'],
    ['a release', 'stats', releasing(0), own, 'pending'],
    ['a snooze', 'scheduled', releasing(60_000), own, 'pending scheduled'],
    ['a release of a job to be cancelled', 'cancelled', releasing(0), cancel, 'cancelled'],
    ['a reclaim', 'pending', reclaim, own, 'pending'],
    ['a reclaim', 'wake', reclaim, own, 'pending'],
    ['a reclaim', 'stats', reclaim, own, 'pending'],
    ['a reclaim of a job with a priority', 'prioritized', reclaim, { ...own, priority: 1 }, 'pending'],
    ['a reclaim of a last attempt', 'dead', reclaim, { ...own, max_attempts: 1 }, 'failed'],
    ['a reclaim of a last attempt', 'unique', reclaim, { ...own, max_attempts: 1 }, 'failed'],
    ['a reclaim of a job to be cancelled', 'cancelled', reclaim, cancel, 'cancelled'],
  ])('%s loses no job where %s is broken: it ends with the next reclaim', async (_what, name, act, asked, ends) => {
    const q = testQueue();
    const { cancelled, ...options } = asked;
    await q.add('ahead');
    await q.add('job', { ...options, lifo: true });
    const [job] = await q.claim(1);
    expect(job!.id).toBe('job');
    if (cancelled) await q.run(q.scripts.cancel({ id: 'job' }));
    const key = q.keys[name];
    const existed = (await q.redis.exists(key)) === 1;
    if (existed) await q.redis.rename(key, `${key}:aside`);
    await q.redis.set(key, 'of another type');
    await expect(act(q, job!)).rejects.toThrow(/WRONGTYPE/);
    for (let i = 0; i < 4; i++) {
      await act(q, job!).catch(String);
      await reclaim(q).catch(String);
    }
    await q.redis.del(key);
    if (existed) await q.redis.rename(`${key}:aside`, key);

    for (let i = 0; i < 2; i++) await reclaim(q);
    expect(await q.redis.zscore(q.keys.claims, 'job')).toBeNull();
    const status = await q.status('job');
    expect(ends.split(' ')).toContain(status);
    const places = await Promise.all([
      q.redis.lrange(q.keys.pending, '0', '-1'),
      ...[q.keys.prioritized, q.keys.scheduled, q.keys.dead].map((set) => q.ranked(set)),
      q.redis.lrange(q.keys.cancelled, '0', '-1'),
    ]);
    expect(places.flat().toSorted()).toEqual(['ahead', 'job']);
    expect(await q.redis.hexists(q.keys.unique, 'k')).toBe(status === 'pending' || status === 'scheduled' ? 1 : 0);
  });
});

describe('a claim of groups that breaks off at a key of another type', () => {
  const kinds = { 'of one slot': { maxRunning: 1 }, unlimited: {} };
  const sets = ['turns', 'ends', 'depths', 'heads', 'finishes', 'gated', 'waiting:g2', 'running:g2'];

  it.each(Object.keys(kinds).flatMap((kind) => sets.map((set) => [set, kind as keyof typeof kinds] as const)))(
    'loses no job where %s is broken and the groups are %s',
    async (set, kind) => {
      const q = testQueue();
      await q.run(q.scripts.limits.set({ groups: kinds[kind] }));
      const groups = ['g1', 'g2', 'g3'];
      for (const group of groups) await q.add(group, { group, worker: JSON.stringify({ group }) });
      const key = `${q.keys.groupsPrefix}${set}`;
      const existed = (await q.redis.exists(key)) === 1;
      if (existed) await q.redis.rename(key, `${key}:aside`);
      await q.redis.set(key, 'of another type');
      const claimed: string[] = [];
      const claim = async () => claimed.push(...(await q.claim(5)).map(({ id }) => id));
      await claim().catch((broken: unknown) => expect(String(broken)).toMatch(/WRONGTYPE/));
      const lines = await Promise.all(
        groups
          .filter((group) => !set.endsWith(group))
          .map((group) => q.ranked(`${q.keys.groupsPrefix}waiting:${group}`)),
      );
      expect(lines.flat().length + claimed.length).toBeGreaterThanOrEqual(set.endsWith('g2') ? 2 : 3);

      await q.redis.del(key);
      if (existed) await q.redis.rename(`${key}:aside`, key);
      await claim();
      expect(claimed.toSorted()).toEqual(groups);
    },
  );
});

it.each<[string, 'sequence' | 'claims', Record<string, unknown>, { slots?: number }?]>([
  ['a plain job', 'sequence', {}],
  ['a plain job', 'claims', {}],
  ['a job that expires', 'claims', { expires_in_ms: 60_000 }],
  ['a job that expires before its start', 'claims', { expires_in_ms: 60_000 }, { slots: 1 }],
  ['a job with a priority', 'sequence', { priority: 2 }],
  ['a job with a priority', 'claims', { priority: 2 }],
  ['a job of a group', 'sequence', { group: 'g' }],
  ['a job of a group', 'claims', { group: 'g' }],
])(
  'a claim where a key has another type that it writes after a job was taken leaves %s in its place: %s',
  async (_, key, options, ...[request]) => {
    const q = testQueue();
    for (const id of ['a', 'b', 'c']) await q.add(id, options);
    const sequence = await q.redis.get(q.keys.sequence);
    await q.redis.del(q.keys[key]);
    await q.redis.rpush(q.keys[key], 'of another type');
    await expect(q.claim(2, request)).rejects.toThrow(/WRONGTYPE/);
    await q.redis.del(q.keys[key]);
    await (key === 'sequence' && sequence !== null && q.redis.set(q.keys.sequence, sequence));
    expect(await q.pending()).toEqual(options.priority || options.group ? [] : ['a', 'b', 'c']);
    for (const id of ['a', 'b', 'c']) expect(await q.status(id)).toBe('pending');
    expect((await q.claim(3)).map((job) => [job.id, job.attempt])).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ]);
  },
);
