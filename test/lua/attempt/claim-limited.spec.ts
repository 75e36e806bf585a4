import { describe, expect, it } from '@jest/globals';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const costs = (openai: number) => ({ worker: JSON.stringify({ limitCosts: { openai } }) });

/** Claims with units of one limit. Returns the ids, and what did not fit. */
async function claim(q: TestQueue, count: number, units: number, token?: string) {
  const { jobs, short } = await q.run(
    q.claimCall(count, { token: token!, slots: 10, units: [['openai', 1, units]] }),
  );
  return [jobs.map(({ id }) => id), short];
}

/** Fills a queue with jobs of these costs; 0 for a plain job. The names are their costs and places. */
async function queueOf(
  ...all: [id: string, cost: number, options?: Record<string, unknown>][]
): Promise<TestQueue> {
  const q = testQueue();
  for (const [id, cost, options] of all) {
    await q.add(id, { ...(cost > 0 && costs(cost)), ...options });
  }
  return q;
}

describe('attempt/claim-limited.lua', () => {
  it('takes jobs while their units last, and leaves the others in their order', async () => {
    const q = await queueOf(['a', 2], ['b', 0], ['c', 3], ['d', 1]);
    expect(await claim(q, 10, 5)).toEqual([['a', 'b'], [3]]);
    expect(await claim(q, 10, 4)).toEqual([['c', 'd'], undefined]);
  });

  it('takes nothing, and says what the first job costs, if that is more', async () => {
    const q = await queueOf(['a', 7], ['b', 0]);
    expect(await claim(q, 10, 6)).toEqual([[], [7]]);
    expect(await q.redis.lrange(q.keys.pending, 0, -1)).toEqual(['b', 'a']);
    expect(await claim(q, 10, 7)).toEqual([['a'], [1]]);
  });

  it('takes no more jobs than it asks for, and says what the next one costs', async () => {
    const q = await queueOf(['a', 0], ['b', 4], ['urgent', 3, { priority: 1 }]);
    expect(await claim(q, 1, 100)).toEqual([['urgent'], [1]]);
    expect(await claim(q, 1, 100)).toEqual([['a'], [4]]);
    expect(await claim(q, 1, 100)).toEqual([['b'], undefined]);
  });

  it('says that its bytes were used up instead', async () => {
    const q = await queueOf(['a', 0], ['b', 4]);
    const reply = await q.run(q.claimCall(5, { units: [['openai', 1, 9]], mostBytes: 2 }));
    expect([reply.jobs.length, reply.isFull, reply.short]).toEqual([1, true, undefined]);
  });

  it('returns the same jobs to a repeat, with units for fewer', async () => {
    const q = await queueOf(['a', 2], ['b', 2]);
    expect(await claim(q, 10, 4, 't')).toEqual([['a', 'b'], undefined]);
    expect(await claim(q, 10, 1, 't')).toEqual([['a', 'b'], undefined]);
  });

  it('needs the units of each limit', async () => {
    const q = testQueue();
    await q.add('a', { worker: JSON.stringify({ limitCosts: { openai: 2, crm: 2 } }) });
    const units = [
      ['crm', 1, 1],
      ['openai', 1, 9],
    ] as const;
    expect(await q.run(q.claimCall(5, { units }))).toMatchObject({ jobs: [], short: [2, 2] });
  });

  it('takes urgent jobs by their costs, and leaves the others in their rank', async () => {
    const q = await queueOf(['plain', 0], ['low', 3, { priority: 1 }], ['high', 2, { priority: 9 }]);
    expect(await claim(q, 10, 4)).toEqual([['high'], [3]]);
    expect(await claim(q, 10, 4)).toEqual([['low', 'plain'], undefined]);
  });

  it('promotes due jobs, and looks at their costs', async () => {
    const q = await queueOf(['late', 4, { delay_ms: 3_600_000 }]);
    await q.makeDue('late');
    expect(await claim(q, 10, 3)).toEqual([[], [4]]);
    expect(await claim(q, 10, 4)).toEqual([['late'], undefined]);
  });

  it('passes over a group whose first job does not fit, and keeps its order', async () => {
    const q = await queueOf(['a1', 5, { group: 'a' }], ['a2', 1, { group: 'a' }], ['b1', 1, { group: 'b' }]);
    expect(await claim(q, 10, 2)).toEqual([['b1'], [5]]);
    expect(await claim(q, 10, 6)).toEqual([['a1', 'a2'], undefined]);
  });

  it('obeys the costs of groups that run one job at a time', async () => {
    const q = testQueue();
    await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
    await q.add('a1', { ...costs(5), group: 'a' });
    await q.add('b1', { group: 'b' });
    expect(await claim(q, 10, 2)).toEqual([['b1'], [5]]);
    expect(await claim(q, 10, 5)).toEqual([['a1'], undefined]);
  });

  it.each([
    ['jobs of groups beside plain ones', {}, ['', 'a', '', 'b', 'a', 'b', ''], undefined],
    ['groups that run one job at a time', { groups: { maxRunning: 1 } }, ['a', 'b', '', 'c', 'd', ''], undefined],
    ['groups whose jobs do not fit into its bytes', {}, ['a', 'b', '', 'a', 'b', ''], 1],
    [
      'a queue with a rate',
      { rateLimit: { limit: 1_000, periodMs: 1_000, burst: 50 } },
      ['a', '', 'b', 'a', ''],
      undefined,
    ],
    [
      'groups with rates',
      { groups: { rateLimit: { limit: 1_000, periodMs: 1_000, burst: 50 } } },
      ['a', '', 'b', 'a', ''],
      undefined,
    ],
  ])('uses units only for jobs that it takes: %s', async (_, limits, groups, mostBytes) => {
    const q = testQueue();
    if (Object.keys(limits).length > 0) await q.run(q.scripts.limits.set(limits));
    for (const [i, group] of groups.entries()) {
      await q.add(`job-${i}`, { ...costs(3), ...(group && { group }) });
    }
    const taken: string[] = [];
    for (let i = 0; i < groups.length; i++) {
      const call = q.claimCall(2, { slots: 1, units: [['openai', 1, 3]], ...(mostBytes && { mostBytes }) });
      const { jobs } = await q.run(call);
      taken.push(...jobs.map(({ id }) => id));
    }
    expect(taken.toSorted()).toEqual(groups.map((__, i) => `job-${i}`));
  });

  it('takes only names that it handles, and leaves others where they are', async () => {
    const q = await queueOf(['a', 3], ['b', 0]);
    const only = { limits: [{ name: q.name, maxAttempts: 3, maxCrashes: 3 }], cursor: 0 };
    const reply = await q.run(q.claimCall(5, { units: [['openai', 1, 3]], only }));
    expect(reply).toMatchObject({ jobs: [{ id: 'a' }], short: [1] });
    const rest = await q.run(q.claimCall(5, { units: [['openai', 1, 3]], only }));
    expect(rest.jobs.map(({ id }) => id)).toEqual(['b']);
  });

  it('does not say what a job costs whose name it does not handle', async () => {
    const q = testQueue();
    await q.run(q.enqueueCall([{ id: 'other', name: 'other', payload: '{}', options: JSON.stringify(costs(9)) }]));
    await q.add('a', costs(3));
    const only = { limits: [{ name: q.name, maxAttempts: 3, maxCrashes: 3 }], cursor: 0 };
    const reply = await q.run(q.claimCall(1, { units: [['openai', 1, 3]], only }));
    expect(reply.jobs.map(({ id }) => id)).toEqual(['a']);
    expect(reply.short).toBeUndefined();
  });

  it('counts a job whose costs another client has spoilt as the usual one', async () => {
    const q = await queueOf(['a', 2], ['b', 2]);
    await q.redis.hset(q.keys.job('a'), 'options', '{"limitCosts":{"openai":');
    await q.redis.hset(q.keys.job('b'), 'options', '{"limitCosts":{"openai":"many"}}');
    const { refused } = await q.run(q.claimCall(5, { units: [['openai', 1, 2]] }));
    expect(refused.map(({ id }) => id)).toEqual(['a', 'b']);
  });
});
