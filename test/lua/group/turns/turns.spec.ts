// Whose turn it is: what a claim takes where jobs have groups. Each trap that other queues fell into has its name here.
import { describe, expect, it } from '@jest/globals';
import type { ClaimedJob } from '#queue/model/job.js';
import type { QueueLimits } from '#queue/model/limits.js';
import { testQueue, type TestQueue } from '../../../support/queue/queue-state.js';

async function fill(q: TestQueue, group: string, count: number, prefix = group): Promise<void> {
  const jobs = Array.from({ length: count }, (_, i) => ({
    id: `${prefix}${i}`,
    name: q.name,
    payload: '{}',
    options: { group },
  }));
  await q.run(q.scripts.enqueue(jobs));
}

/** Claims one job after the other and completes it; answers the letters of their groups. */
async function turns(q: TestQueue, count: number): Promise<string> {
  let line = '';
  for (let i = 0; i < count; i++) {
    const [job] = await q.claim(1);
    if (!job) break;
    line += job.id[0]!;
    await q.complete(job);
  }
  return line;
}

const shares = (line: string) =>
  Object.fromEntries([...new Set(line)].map((letter) => [letter, line.split(letter).length - 1]));

const limited = async (limits: QueueLimits): Promise<TestQueue> => {
  const q = testQueue();
  await q.run(q.scripts.limits.set(limits));
  return q;
};

it('the completion of a group that has one slot wakes a worker for its next job, and for no other', async () => {
  const q = await limited({ groups: { maxRunning: 1 } });
  await fill(q, 'a', 2);
  for (const wakes of [true, false]) {
    const [job] = await q.claim(5);
    await q.takeWake();
    await q.run(q.scripts.complete([{ ...job!, result: '' }], true));
    expect(await q.takeWake()).toBe(wakes);
  }
});

it('jobs without a group pay for the rate of the queue, beside those of groups', async () => {
  const q = await limited({ rateLimit: { limit: 4, periodMs: 3_600_000, burst: 4 } });
  await fill(q, 'a', 1);
  for (const id of ['p', 'q', 'r', 's', 't']) await q.add(id);
  expect(await q.claim(2)).toHaveLength(2);
  expect(await q.claim(5)).toHaveLength(2);
  expect(await q.claim(5)).toEqual([]);
});

it('jobs without a group that the claimer does not handle take nothing of the rate', async () => {
  const q = await limited({ rateLimit: { limit: 3, periodMs: 3_600_000, burst: 3 } });
  await fill(q, 'a', 2);
  await q.add('p');
  await q.run(q.scripts.enqueue([{ id: 'q', name: 'other', payload: '{}' }]));
  const only = { limits: [{ name: q.name, maxAttempts: 3, maxCrashes: 3 }], cursor: -1 };
  expect((await q.claim(3, { only })).map(({ id }) => id)).toEqual(['p', 'a0', 'a1']);
});

const inRow = (count: number, turnsInRow: number) => ({ slots: count, turnsInRow });
const groupsOf = (jobs: ClaimedJob[]) => jobs.map(({ id }) => id[0]).join('');

describe('for a claimer that runs jobs of a group together', () => {
  it('a group has several turns in a row, and no more than its jobs', async () => {
    const q = testQueue();
    await fill(q, 'a', 4);
    await fill(q, 'b', 2);
    for (const id of ['p1', 'p2', 'p3', 'p4']) await q.add(id);
    expect(groupsOf(await q.claim(6, inRow(6, 3)))).toBe('pppaaa');
    expect(groupsOf(await q.claim(6, inRow(6, 3)))).toBe('bbpa');
  });

  it('groups have the turns of their weights all the same', async () => {
    const q = testQueue();
    await q.run(q.scripts.groups.set({ name: 'b', limits: { weight: 3 } }));
    for (const group of ['a', 'b', 'c']) await fill(q, group, 200);
    const line = [];
    for (let i = 0; i < 50; i++) line.push(groupsOf(await q.claim(4, inRow(4, 4))));
    const counts = shares(line.join(''));
    expect(line.every((each) => new Set(each).size === 1)).toBe(true);
    expect(Math.abs(counts.a! - 40)).toBeLessThanOrEqual(4);
    expect(Math.abs(counts.b! - 120)).toBeLessThanOrEqual(8);
  });

  it('a group that comes later has its turn where the row began', async () => {
    const q = testQueue();
    await fill(q, 'a', 100);
    await fill(q, 'b', 100);
    await q.claim(50, inRow(50, 50));
    await fill(q, 'c', 3);
    expect(groupsOf(await q.claim(8, inRow(8, 1)))).toBe('bcbcbcbb'); // and none of `a`
  });

  it('ends its row at a job that it does not handle, and at its limit', async () => {
    const q = await limited({ groups: { rateLimit: { limit: 2, periodMs: 3_600_000, burst: 2 } } });
    await fill(q, 'a', 5);
    await fill(q, 'b', 1);
    await q.run(q.scripts.enqueue([{ id: 'b-other', name: 'other', payload: '{}', options: { group: 'b' } }]));
    await fill(q, 'c', 1);
    const only = { limits: [{ name: q.name, maxAttempts: 3, maxCrashes: 3 }], cursor: -1 };
    expect(groupsOf(await q.claim(9, { ...inRow(9, 3), only }))).toBe('aabc');
  });
});

/** Claims one after the other, while an urgent job comes for each that is taken. */
async function takenBesideUrgent(q: TestQueue, count: number): Promise<string[]> {
  const taken: string[] = [];
  for (let i = 0; i < count; i++) {
    await q.add(`urgent${i}`, { group: 'a', priority: 1 + (i % 5) });
    const [job] = await q.claim(1);
    taken.push(job!.id);
    await q.complete(job!);
  }
  return taken;
}

describe('a group with urgent jobs', () => {
  it.each<[string, QueueLimits]>([
    ['without limits', {}],
    ['one at a time', { groups: { maxRunning: 1 } }],
    ['with a rate', { groups: { rateLimit: { limit: 1_000, periodMs: 1, burst: 1_000 } } }],
    ['in a queue with a rate', { rateLimit: { limit: 1_000, periodMs: 1, burst: 1_000 } }],
  ])('gives one turn in ten to its oldest plain job (%s)', async (_, limits) => {
    const q = await limited(limits);
    for (let i = 0; i < 9; i++) await q.add(`plain${i}`, { group: 'a' });
    for (let i = 0; i < 5; i++) await q.add(`first${i}`, { group: 'a', priority: 6 });
    const taken = await takenBesideUrgent(q, 100);
    const plain = taken.filter((id) => id.startsWith('plain'));
    expect(plain.length).toBeGreaterThanOrEqual(6);
    expect(plain).toEqual(plain.toSorted());
    const lowest = taken.filter((id) => Number(id.slice('urgent'.length)) % 5 === 0);
    expect(lowest.length).toBeGreaterThan(0); // of priority 1, behind all the others
  });

  it('starves no lower priority where plain jobs wait too', async () => {
    const q = testQueue();
    await q.add('low', { group: 'a', priority: 1 });
    for (let i = 0; i < 60; i++) await q.add(`plain${i}`, { group: 'a' });
    for (let i = 0; i < 9; i++) await q.add(`first${i}`, { group: 'a', priority: 9 });
    let claimed = '';
    for (let i = 0; i < 400 && claimed !== 'low'; i++) {
      claimed = (await q.claim(1))[0]!.id;
      await q.add(`urgent${i}`, { group: 'a', priority: 9 });
    }
    expect(claimed).toBe('low');
    q.broken = true; // a check of each would take long
  });

  it('leaves no turn unused where the job in turn cannot start', async () => {
    const q = await limited({ groups: { rateLimit: { limit: 5, periodMs: 3_600_000, burst: 5 } } });
    await q.add('dear', { group: 'a', cost: 5 });
    for (let i = 0; i < 4; i++) await q.add(`urgent${i}`, { group: 'a', priority: 1 });
    await q.add('first', { group: 'a', priority: 9 });
    const taken = [];
    for (let i = 0; i < 5; i++) taken.push(...(await q.claim(1)).map(({ id }) => id));
    expect(taken.filter((id) => id !== 'dear').length).toBe(taken.includes('dear') ? 0 : 5);
  });

  it('passes over a plain job that the claimer does not handle', async () => {
    const q = testQueue();
    await q.run(q.scripts.enqueue([{ id: 'other', name: 'other', payload: '{}', options: { group: 'a' } }]));
    const only = { limits: [{ name: q.name, maxAttempts: 3, maxCrashes: 3 }], cursor: -1 };
    for (let i = 0; i < 30; i++) {
      await q.add(`urgent${i}`, { group: 'a', priority: 1 });
      expect((await q.claim(1, { only })).map(({ id }) => id)).toEqual([`urgent${i}`]);
    }
  });
});

describe('groups take turns', () => {
  it('one after the other, however deep they are', async () => {
    const q = testQueue();
    await fill(q, 'a', 50);
    await fill(q, 'b', 5);
    await fill(q, 'c', 5);
    expect(await turns(q, 15)).toBe('abcabcabcabcabc');
    expect(await turns(q, 5)).toBe('aaaaa');
  });

  it('in the order of their jobs within a group, and by priority', async () => {
    const q = testQueue();
    await fill(q, 'a', 3);
    await q.add('urgent', { group: 'a', priority: 5 });
    expect((await q.claim(4)).map(({ id }) => id)).toEqual(['urgent', 'a0', 'a1', 'a2']);
  });

  it('equally by many in one claim as by one at a time, whatever a slice of turns holds', async () => {
    for (const weight of [1, 3]) {
      const [one, many] = [testQueue(), testQueue()];
      for (const q of [one, many]) {
        await q.run(q.scripts.groups.set({ name: 'b', limits: { weight } }));
        for (const group of ['a', 'b', 'c']) await fill(q, group, 30);
      }
      const claimed = (await many.claim(40)).map(({ id }) => id[0]).join('');
      expect(claimed).toBe(await turns(one, 40));
    }
  });

  it('and a claim leaves no finish behind that its own turns have written', async () => {
    const q = testQueue();
    await fill(q, 'a', 1);
    await q.addAll('p0');
    expect(await q.claim(2)).toHaveLength(2); // the last plain job: its line goes idle within the claim
    expect(await q.redis.exists(`${q.keys.groupsPrefix}finishes`)).toBe(0);
  });

  it('and a claim forgets the finishes behind the clock little by little', async () => {
    const q = await limited({ groups: { maxRunning: 1 } });
    const finishes = `${q.keys.groupsPrefix}finishes`;
    await fill(q, 'a', 2);
    await q.claim(1);
    await q.redis.zadd(finishes, ...Array.from({ length: 100 }, (_, i) => [-1, `gone${i}`]).flat());
    await fill(q, 'b', 1);
    await q.claim(1);
    expect(await q.redis.zcount(finishes, '-inf', -1)).toBe(88);
  });

  it.each([2 ** 33 + 0.5, 1e13, 1e15])('by weight and cost, however long they have done so (%d)', async (clock) => {
    const q = testQueue();
    await q.run(q.scripts.groups.set({ name: 'a', limits: { weight: 1 } }));
    await q.run(q.scripts.groups.set({ name: 'b', limits: { weight: 1_000 } }));
    await q.redis.hset(`${q.keys.groupsPrefix}settings`, 'virtual_time', clock);
    await fill(q, 'a', 5);
    await fill(q, 'b', 2_500);
    let line = '';
    while (line.length < 2_002) line += (await q.claim(500)).map(({ id }) => id[0]).join('');
    expect([2, 3]).toContain(shares(line.slice(0, 2_002)).a);
    expect(Number(await q.redis.hget(`${q.keys.groupsPrefix}settings`, 'virtual_time'))).toBeLessThan(10);
  });

  it('by weight', async () => {
    const q = testQueue();
    await q.run(q.scripts.groups.set({ name: 'b', limits: { weight: 3 } }));
    await fill(q, 'a', 100);
    await fill(q, 'b', 100);
    expect(shares(await turns(q, 80))).toEqual({ a: 20, b: 60 });
  });

  it('where a claim takes many at once, too', async () => {
    const q = testQueue();
    await fill(q, 'a', 100);
    await fill(q, 'b', 100);
    expect(shares((await q.claim(40)).map(({ id }) => id[0]).join(''))).toEqual({ a: 20, b: 20 });
  });

  it('a job that costs more takes as many turns', async () => {
    const q = testQueue();
    for (let i = 0; i < 9; i++) await q.add(`a${i}`, { group: 'a', cost: 3 });
    await fill(q, 'b', 27);
    expect(shares(await turns(q, 16))).toEqual({ a: 4, b: 12 });
  });

  it('jobs without a group are one group with a weight: neither side starves', async () => {
    const q = await limited({ groups: { ungroupedWeight: 2 } });
    await fill(q, 'a', 30);
    await q.addAll(...Array.from({ length: 60 }, (_, i) => `p${i}`));
    expect(shares(await turns(q, 30))).toEqual({ a: 10, p: 20 });
    expect(shares((await q.claim(30)).map(({ id }) => id[0]).join(''))).toEqual({ a: 10, p: 20 });
  });
});

describe('traps', () => {
  it('frozen virtual clock: a newcomer gets its share beside a group whose head is not ready', async () => {
    const q = testQueue();
    await q.run(q.scripts.groups.set({ name: 'z', limits: { maxRunning: 1 } }));
    await fill(q, 'z', 5);
    const [head] = await q.claim(1); // z is at its limit from now on
    await fill(q, 'a', 100);
    await turns(q, 40);
    await fill(q, 'n', 100);
    expect(shares(await turns(q, 20))).toEqual({ a: 10, n: 10 });
    await q.complete(head!);
  });

  it('idle credit: a group that was idle for long gets no more than its share', async () => {
    const q = testQueue();
    await fill(q, 'i', 1);
    await fill(q, 'a', 200);
    await turns(q, 100);
    await fill(q, 'i', 50, 'i_later');
    expect(shares(await turns(q, 20))).toEqual({ a: 10, i: 10 });
  });

  it('idle credit: plain jobs that were away for long get no more than their share', async () => {
    const q = testQueue();
    await fill(q, 'a', 20);
    await q.addAll('p0');
    expect(shares(await turns(q, 2))).toEqual({ a: 1, p: 1 });
    expect(await turns(q, 8)).toBe('aaaaaaaa');
    await q.addAll(...Array.from({ length: 10 }, (_, i) => `p${i + 1}`));
    expect(shares(await turns(q, 10))['p']).toBeLessThanOrEqual(6);
  });

  it('keeps no turn for plain jobs when none waits any more', async () => {
    const q = testQueue();
    await fill(q, 'a', 3);
    await q.addAll('p0');
    await turns(q, 2);
    expect(await q.ranked(`${q.keys.groupsPrefix}turns`)).toEqual(['a']);
  });

  it('plain jobs get their share of a claim of many, too', async () => {
    const q = testQueue();
    await fill(q, 'a', 10);
    await q.addAll(...Array.from({ length: 10 }, (_, i) => `p${i}`));
    expect(shares((await q.claim(10)).map(({ id }) => id[0]).join(''))).toEqual({ a: 5, p: 5 });
  });

  it('idle credit: a group starts at the clock, where its last turn far behind is not forgotten yet', async () => {
    const q = testQueue();
    const [finishes, places] = [`${q.keys.groupsPrefix}finishes`, `${q.keys.groupsPrefix}turns`];
    await fill(q, 'a', 50);
    await fill(q, 'i', 1);
    await turns(q, 2);
    const before = Array.from({ length: 1_000 }, (_, i) => [-1, `gone${i}`]).flat(); // these are forgotten first
    await q.redis.zadd(finishes, ...before);
    await turns(q, 40);
    expect(await q.redis.zscore(finishes, 'i')).toBe('1');
    await fill(q, 'i', 1, 'i_later');
    expect(await q.redis.zscore(places, 'i')).toBe('40');
  });

  it('idle debt: a group that brings one job at a time does not go first each time', async () => {
    const q = testQueue();
    await fill(q, 'a', 100);
    let line = '';
    for (let i = 0; i < 30; i++) {
      if (!line.endsWith('x') || i === 0) await fill(q, 'x', 1, `x${i}_`);
      line += await turns(q, 1);
    }
    expect(shares(line)['a']).toBeGreaterThanOrEqual(14);
  });

  it('blocked groups hidden: a hundred blocked groups before it do not hide a group that may run', async () => {
    const q = await limited({ groups: { maxRunning: 1 } });
    for (let i = 0; i < 100; i++) await fill(q, `blocked${i}`, 2, `b${i}_`);
    expect(await q.claim(100)).toHaveLength(100);
    await fill(q, 'free', 1, 'f');
    expect((await q.claim(5)).map(({ id }) => id)).toEqual(['f0']);
    expect(await q.ranked(`${q.keys.groupsPrefix}turns`)).toEqual([]);
  });

  it('phantom slots: a job whose hash is gone takes no slot, and blocks nothing', async () => {
    const q = await limited({ groups: { maxRunning: 1 } });
    q.broken = true;
    await fill(q, 'a', 2);
    await q.redis.del(q.keys.job('a0'));
    const { refused } = await q.run(q.claimCall(1));
    expect(refused.map(({ id }) => id)).toEqual(['a0']);
    expect((await q.claim(1)).map(({ id }) => id)).toEqual(['a1']);
  });

  it('a group that is empty leaves no key of its own', async () => {
    const q = testQueue();
    await fill(q, 'a', 3);
    await fill(q, 'b', 3);
    await turns(q, 6);
    const left = Object.keys(await q.snapshot()).filter((key) => key.startsWith('groups:'));
    expect(left).toEqual(['groups:settings']);
  });
});

it('a job of a group that waits for its time joins the line of its group once it is due, also as the first of its queue', async () => {
  const q = testQueue();
  await q.add('later', { group: 'a', delay_ms: 60_000 });
  await q.makeDue('later');
  await fill(q, 'b', 2);
  expect(shares((await q.claim(9)).map(({ id }) => id[0]).join(''))).toEqual({ l: 1, b: 2 });
});

describe('limits of a group', () => {
  it('maxRunning bounds its claims, and every end of a claim frees a slot', async () => {
    const q = await limited({ groups: { maxRunning: 2 } });
    await fill(q, 'a', 9);
    const [one, two, ...more] = await q.claim(5);
    expect(more).toEqual([]);
    await q.complete(one!);
    const [three] = await q.claim(5);
    expect(three!.id).toBe('a2');
    await q.fail(two!, { final: true });
    const [four] = await q.claim(5);
    await q.expireClaims(four!.id);
    await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 3_600_000, waitMs: 0 }));
    expect((await q.claim(5)).map(({ id }) => id)).toEqual([four!.id]);
    await q.run(q.scripts.release([{ ...three!, reason: 'interruption', delayMs: 0 }]));
    expect((await q.claim(5)).map(({ id }) => id)).toEqual(['a2']);
  });

  it('rateLimit gates it, and the claim says until when; other groups continue', async () => {
    const q = testQueue();
    await q.run(
      q.scripts.groups.set({ name: 'a', limits: { rateLimit: { limit: 1, periodMs: 3_600_000, burst: 2 } } }),
    );
    await fill(q, 'a', 5);
    await fill(q, 'b', 2);
    expect(shares((await q.claim(9)).map(({ id }) => id[0]).join(''))).toEqual({ a: 2, b: 2 });
    const { jobs, nextDueInMs } = await q.run(q.claimCall(9));
    expect(jobs).toEqual([]);
    expect(nextDueInMs).toBeGreaterThan(3_590_000);
    const gate = Number(await q.redis.zscore(`${q.keys.groupsPrefix}gated`, 'a'));
    expect(gate - (await q.now())).toBeGreaterThan(3_590_000);
  });

  it('rateLimit notes whether a start leaves jobs behind, because only then the next one is late', async () => {
    const q = await limited({ groups: { rateLimit: { limit: 10, periodMs: 3_600_000, burst: 5 } } });
    await fill(q, 'a', 2);
    const leavesJobs = async () => {
      await q.claim(1);
      return (await q.redis.hget(`${q.keys.groupsPrefix}state:a`, 'rate_late'))!.startsWith('1 ');
    };
    expect([await leavesJobs(), await leavesJobs()]).toEqual([true, false]);
  });

  it('opens its gate when the time is over', async () => {
    const q = testQueue();
    await q.run(q.scripts.groups.set({ name: 'a', limits: { rateLimit: { limit: 1_000, periodMs: 1_000 } } }));
    await fill(q, 'a', 3);
    const taken: string[] = [];
    while (taken.length < 3) taken.push(...(await q.claim(9)).map(({ id }) => id));
    expect(taken).toEqual(['a0', 'a1', 'a2']);
  });

  it('is nothing to wait for where the group has no job', async () => {
    const q = await limited({ groups: { rateLimit: { limit: 1, periodMs: 3_600_000 } } });
    await fill(q, 'a', 1);
    await fill(q, 'b', 1);
    expect(await q.claim(9)).toHaveLength(2);
    expect((await q.run(q.claimCall(9))).nextDueInMs).toBeUndefined();
    await fill(q, 'a', 1, 'a_later');
    expect(await q.claim(9)).toEqual([]); // and what its rate has spent stays spent
  });

  it('pause stops it alone; resume wakes a worker', async () => {
    const q = testQueue();
    expect(await q.run(q.scripts.groups.pause({ name: 'a' }))).toBe(true);
    expect(await q.run(q.scripts.groups.pause({ name: 'a' }))).toBe(false);
    await fill(q, 'a', 1);
    await fill(q, 'b', 1);
    expect((await q.claim(5)).map(({ id }) => id)).toEqual(['b0']);
    await q.takeWake();
    expect(await q.run(q.scripts.groups.resume({ name: 'a' }))).toBe(true);
    expect(await q.takeWake()).toBe(true);
    expect((await q.claim(5)).map(({ id }) => id)).toEqual(['a0']);
  });

  it('a RateLimitedError rests the group, and not the queue', async () => {
    const q = testQueue();
    await fill(q, 'a', 2);
    await fill(q, 'b', 1);
    const [job] = await q.claim(1);
    await q.run(q.scripts.release([{ ...job!, reason: 'rate_limited', delayMs: 60_000 }]));
    expect((await q.claim(5)).map(({ id }) => id)).toEqual(['b0']);
    const [group] = await q.run(q.scripts.groups.named({ names: ['a'] }));
    expect(group).toMatchObject({ pending: 2, running: 0 });
    expect(group!.opensAt!.getTime() - (await q.now())).toBeGreaterThan(50_000);
    await q.run(q.scripts.groups.clear({ name: 'a' }));
    expect((await q.claim(1)).map(({ id }) => id)).toEqual(['a0']);
  });

  it('returns a gate that opens before the one whose time another worker keeps', async () => {
    const q = testQueue();
    await fill(q, 'a', 1);
    await fill(q, 'b', 1);
    const [a, b] = await q.claim(2);
    const rest = (job: ClaimedJob, delayMs: number) =>
      q.run(q.scripts.release([{ ...job, reason: 'rate_limited', delayMs }]));
    const waitOf = async (worker: string) => (await q.run(q.claimCall(5, { worker }))).nextDueInMs;
    await rest(a!, 600_000);
    expect(await waitOf('worker-1')).toBeGreaterThan(500_000);
    expect(await waitOf('worker-2')).toBeUndefined(); // the same gate
    await rest(b!, 60_000);
    expect(await waitOf('worker-2')).toBeLessThanOrEqual(60_000);
    expect(await waitOf('worker-3')).toBeUndefined();
  });

  it('limits for all groups, changed at run time, reach blocked groups', async () => {
    const q = await limited({ groups: { maxRunning: 1 } });
    await fill(q, 'a', 4);
    await q.claim(4);
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 3 } }));
    expect((await q.claim(4)).map(({ id }) => id)).toEqual(['a1', 'a2']);
  });

  it('a new limit of all groups reaches each of many groups, a slice and a wake after the other', async () => {
    const q = await limited({ groups: { maxRunning: 1 } });
    const groups = Array.from({ length: 250 }, (_, i) => `g${i}`);
    for (const round of ['a', 'b']) {
      await q.run(
        q.scripts.enqueue(
          groups.map((group) => ({ id: `${round}${group}`, name: q.name, payload: '{}', options: { group } })),
        ),
      );
    }
    expect(await q.claim(250)).toHaveLength(250);
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 2 } }));
    let claimed = 0;
    while (await q.takeWake()) claimed += (await q.claim(100)).length;
    expect(claimed).toBe(250);
  });

  it('a repeated claim with fewer bytes gives slots and rate back, and wakes a worker for them', async () => {
    const q = testQueue();
    await q.run(
      q.scripts.groups.set({
        name: 'a',
        limits: { maxRunning: 3, rateLimit: { limit: 1, periodMs: 3_600_000, burst: 3 } },
      }),
    );
    for (const id of ['a0', 'a1', 'a2']) await q.add(id, { group: 'a' }, JSON.stringify('x'.repeat(1_000)));
    expect(await q.claim(3, { token: 'same' })).toHaveLength(3);
    await q.takeWake();
    expect(await q.claim(3, { token: 'same', mostBytes: 1_500 })).toHaveLength(1);
    expect(await q.takeWake()).toBe(true);
    expect((await q.claim(3)).map(({ id }) => id)).toEqual(['a1', 'a2']);
  });
});
