// A bound includes its own number. A part, a sum or a count that is exactly at the bound is taken. One more is not.
import { describe, expect, it } from '@jest/globals';
import { queueOn, testQueue, type TestQueue } from '../support/queue/queue-state.js';
import { DEFINITION } from '../support/queue/seeded-batch.js';
import { connectClocked } from '../support/redis/clocked-redis.js';

const NOW = 1_800_000_000_000;
const LONGEST = 1_024;
const MOST_OPTIONS = 262_144;
const EMPTY = '{}';

const nothing = async () => undefined;

/** The parts of a job as another program may write them, of some bytes. */
const PARTS: readonly [part: string, most: number, of: (bytes: number) => string][] = [
  ['name', LONGEST, (bytes) => 'n'.repeat(bytes)],
  ['group', LONGEST, (bytes) => 'g'.repeat(bytes)],
  ['options', MOST_OPTIONS, (bytes) => EMPTY + ' '.repeat(bytes - EMPTY.length)],
];

describe.each(PARTS)('a job with a %s of %i bytes', (part, most, of) => {
  const withPart = async (bytes: number) => {
    const q = testQueue();
    q.broken = true;
    await q.addAll('a');
    await q.redis.hset(q.keys.job('a'), { options: EMPTY, [part]: of(bytes) }); // a plain job needs no check
    return q;
  };

  it('is claimed, and with a longer one it is refused', async () => {
    const verdicts = [most, most + 1].map(async (bytes) => {
      const q = await withPart(bytes);
      const { jobs, refused } = await q.run(q.claimCall(1));
      return [jobs.length, refused.length];
    });
    expect(await Promise.all(verdicts)).toEqual([[1, 0], [0, 1]]); // prettier-ignore
  });

  it('is no large one for the doctor, and with a longer one it is', async () => {
    const verdicts = [most, most + 1].map(async (bytes) => {
      const q = await withPart(bytes);
      const looks = new Map(await q.run(q.scripts.doctor.scan({ ids: ['a'] })));
      return looks.get('a')!.verdict;
    });
    expect(await Promise.all(verdicts)).toEqual(['nowhere', 'odd']); // a look at lists would find its place
  });
});

it('a claim leaves the start of the longest id, and takes a longer one for due', async () => {
  const starts = [LONGEST, LONGEST + 1].map(async (bytes) => {
    const q = queueOn(connectClocked({ nowMs: NOW }));
    q.broken = true;
    const id = 'i'.repeat(bytes);
    await q.run(q.scripts.limits.set({ maxRunning: 5 }));
    await q.redis.zadd(q.keys.scheduled, NOW + 5_000, id);
    const { nextDueInMs } = await q.run(q.claimCall(1));
    return [nextDueInMs, (await q.redis.zscore(q.keys.scheduled, id)) === String(NOW + 5_000)];
  });
  expect(await Promise.all(starts)).toEqual([[5_000, true], [undefined, false]]); // prettier-ignore
});

describe('the bytes of a claim', () => {
  const PAYLOAD = '"12345678"';
  it.each<[what: string, options: [object, object], seed: (q: TestQueue) => Promise<unknown>]>([
    ['plain jobs', [{}, {}], nothing],
    ['jobs of a priority', [{ priority: 1 }, { priority: 1 }], nothing],
    ['two jobs of one group', [{ group: 'g' }, { group: 'g' }], nothing],
    ['jobs of two groups', [{ group: 'g' }, { group: 'h' }], nothing],
    ['a job of a group, and a plain one', [{ group: 'g' }, {}], nothing],
    [
      'jobs of groups that run one job at a time',
      [{ group: 'g' }, { group: 'h' }],
      (q) => q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } })),
    ],
    [
      'jobs of a group with settings of its own',
      [{ group: 'g' }, { group: 'g' }],
      (q) => q.run(q.scripts.groups.set({ name: 'g', limits: { weight: 2 } })),
    ],
  ])('take %s that fill them to the last one', async (_, options, seed) => {
    const taken = [2 * PAYLOAD.length, 2 * PAYLOAD.length - 1].map(async (mostBytes) => {
      const q = testQueue();
      await seed(q);
      for (const [i, each] of options.entries()) await q.add(`j${i}`, { ...each }, PAYLOAD);
      const { jobs, isFull } = await q.run(q.claimCall(2, { mostBytes }));
      return [jobs.length, isFull];
    });
    expect(await Promise.all(taken)).toEqual([[2, false], [1, true]]); // prettier-ignore
  });
});

it.each([
  ['the short way', undefined],
  ['turns', { weight: 2 }],
])(
  'a claim by %s leaves the longest name of a group that opens later, and drops a longer one',
  async (_, limits) => {
    const left = [LONGEST, LONGEST + 1].map(async (bytes) => {
      const q = testQueue();
      q.broken = true;
      if (limits) await q.run(q.scripts.groups.set({ name: 'g', limits }));
      await q.add('a', { group: 'g' });
      await q.redis.zadd(`${q.keys.groupsPrefix}gated`, 2 * NOW, 'n'.repeat(bytes));
      const claimed = (await q.claim(1)).length;
      return [claimed, await q.redis.zcard(`${q.keys.groupsPrefix}gated`)];
    });
    expect(await Promise.all(left)).toEqual([[1, 1], [1, 0]]); // prettier-ignore
  },
);

describe('of many', () => {
  it('a thousand records of ended batches stay, and of one more the oldest goes', async () => {
    const q = testQueue();
    q.broken = true;
    const end = async (id: string) => {
      await q.run(q.scripts.batches.create({ ...DEFINITION, id, followUps: [] }));
      await q.run(q.scripts.batches.seal({ id }));
      return (await q.ranked(q.keys.batchesEnded)).length;
    };
    const now = await q.now();
    await q.redis.zadd(q.keys.batchesEnded, ...Array.from({ length: 999 }, (_, i) => [now - 500, `${i}`]).flat());
    expect([await end('last'), await end('over')]).toEqual([1_000, 1_000]);
    expect((await q.ranked(q.keys.batchesEnded)).slice(-2)).toEqual(['last', 'over']);
  });

  it.each([
    [9_999, 1],
    [10_001, 0],
  ])('the doctor counts the jobs in %i groups again or not: %i fault', async (groups, faults) => {
    const q = testQueue();
    q.broken = true;
    await q.redis.zadd(
      `${q.keys.groupsPrefix}depths`,
      ...Array.from({ length: groups }, (_, i) => [1, `g${i}`]).flat(),
    );
    await q.redis.hset(`${q.keys.groupsPrefix}settings`, 'waiting', groups + 1);
    const found = await q.run(q.scripts.doctor.counters({ repair: false, exclusive: false }));
    expect(found.filter(({ subject }) => subject === 'waiting of groups:settings')).toHaveLength(faults);
  });

  it('a purge of as many jobs as it may delete says that more may be left', async () => {
    const more = [3, 4].map(async (limit) => {
      const q = testQueue();
      await q.addAll('a', 'b', 'c');
      return (await q.run(q.scripts.purge({ limit }))).more;
    });
    expect(await Promise.all(more)).toEqual([true, false]);
  });
});

describe('a setting of 65,536 bytes', () => {
  const LONGEST_SETTING = 65_536;
  it.each<[of: string, key: (q: TestQueue) => string, field: string]>([
    ['the queue', (q) => q.keys.settings, 'rest_ms'],
    ['all groups', (q) => `${q.keys.groupsPrefix}settings`, 'weight'],
  ])('of %s stays at a claim, and a longer one is dropped', async (_, key, field) => {
    const left = [LONGEST_SETTING, LONGEST_SETTING + 1].map(async (bytes) => {
      const q = testQueue();
      q.broken = true;
      await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
      await q.add('a', { group: 'g' });
      await q.redis.hset(key(q), { [field]: '1'.padStart(bytes, '0'), other: '1'.padStart(bytes, '0') });
      await q.claim(1);
      return await q.redis.hmget(key(q), field, 'other').then((values) => values.map((value) => value?.length));
    });
    expect(await Promise.all(left)).toEqual([[LONGEST_SETTING, LONGEST_SETTING], [undefined, undefined]]); // prettier-ignore
  });
});

describe('in the very ms', () => {
  it('a wait for a rate that is over counts as over, so the next one is another', async () => {
    const q = queueOn(connectClocked({ nowMs: NOW }));
    await q.run(q.scripts.limits.set({ rateLimit: { limit: 1, periodMs: 50 } }));
    await q.addAll('a', 'b');
    await q.claim(1);
    await q.redis.hset(q.keys.settings, { timer_until_ms: NOW, timer_worker: 'other', rate_waits: 1 });
    await q.claim(1);
    expect(await q.redis.hget(q.keys.settings, 'rate_waits')).toBe('2');
  });
});
