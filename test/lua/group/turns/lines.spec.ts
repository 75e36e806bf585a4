// The line of a group that an enqueue lengthens: its first job, its length, and the place of its group.
import { expect, it } from '@jest/globals';
import { testQueue, type TestQueue } from '../../../support/queue/queue-state.js';

const optionsOf = (id: string) => ({ group: id[0]!, ...(id.endsWith('!') && { priority: 1 }) });

/** Adds jobs in one call. A name with an exclamation mark is of an urgent job; its first letter is its group. */
async function add(q: TestQueue, ...ids: string[]): Promise<void> {
  const jobs = ids.map((id) => ({ id, name: q.name, payload: '{}', options: optionsOf(id) }));
  await q.run(q.scripts.enqueue(jobs));
}

const scores = (q: TestQueue, set: string) =>
  q.redis.zrange(`${q.keys.groupsPrefix}${set}`, '0', '-1', 'WITHSCORES');

it('keeps its first job until an urgent one joins', async () => {
  const q = testQueue();
  await add(q, 'a1', 'b1', 'a2');
  expect([await scores(q, 'heads'), await scores(q, 'depths')]).toEqual([
    ['a', '1', 'b', '2'],
    ['b', '1', 'a', '2'],
  ]);
  await add(q, 'a3');
  await add(q, 'b2', 'b3!');
  expect([await scores(q, 'heads'), await scores(q, 'depths')]).toEqual([
    ['a', '1', 'b', '6'],
    ['a', '3', 'b', '3'],
  ]);
  await add(q, 'c1', 'c2!', 'd1!', 'd2');
  expect(await scores(q, 'heads')).toEqual(['a', '1', 'b', '6', 'c', '8', 'd', '9']);
  expect(await q.redis.hget(`${q.keys.groupsPrefix}settings`, 'waiting')).toBe('10');
  const claimed = (await q.claim(10)).map(({ id }) => id);
  expect(claimed.slice(0, 4)).toEqual(['a1', 'b3!', 'c2!', 'd1!']);
});

it('has a job once that comes twice, or that is left there from a deleted hash', async () => {
  const q = testQueue();
  await add(q, 'a1', 'a1', 'a2');
  await q.redis.del(q.keys.job('a1'));
  await add(q, 'a1', 'a3');
  expect(await scores(q, 'depths')).toEqual(['a', '3']);
  expect((await q.claim(5)).map(({ id }) => id)).toEqual(['a2', 'a1', 'a3']);
});

it('is counted for a group without a free slot, which stays out of turns', async () => {
  const q = testQueue();
  await q.run(q.scripts.limits.set({ groups: { maxRunning: 1 } }));
  await add(q, 'a1', 'a2', 'b1', 'b2');
  const [first] = await q.claim(1);
  await q.takeWake();
  await add(q, 'a3', 'b3');
  expect([await scores(q, 'turns'), await scores(q, 'depths')]).toEqual([
    ['b', '0'],
    ['a', '2', 'b', '3'],
  ]);
  expect(await q.takeWake()).toBe(false);
  await q.complete(first!);
  expect((await q.claim(5)).map(({ id }) => id).toSorted()).toEqual(['a2', 'b1']);
});

it('grows beside running jobs of its own, in a call for many groups', async () => {
  const q = testQueue();
  await q.run(q.scripts.limits.set({ groups: { maxRunning: 2 } }));
  await q.run(q.scripts.groups.set({ name: 'a', limits: { maxRunning: 1 } }));
  await q.run(q.scripts.groups.set({ name: 'b', limits: { maxRunning: 1 } }));
  await add(q, 'a1', 'a2', 'b1', 'b2', 'c1', 'c2', 'c3');
  const running = await q.claim(9);
  expect(running.map(({ id }) => id).toSorted()).toEqual(['a1', 'b1', 'c1', 'c2']);
  await add(q, 'a3', 'b3', 'c4'); // all out of turns, each with a running job
  expect(await scores(q, 'turns')).toEqual([]);
  await q.complete(running.find(({ id }) => id === 'a1')!);
  await q.redis.zrem(`${q.keys.groupsPrefix}turns`, 'a');
  await add(q, 'a4', 'b4'); // one of them without: it finds its place again
  expect(await scores(q, 'turns')).toMatchObject(['a', expect.anything()]);
  expect((await q.claim(9)).map(({ id }) => id)).toEqual(['a2']);
});

it('takes the numbers of its ranks at once, and gives those back that no job needs', async () => {
  const q = testQueue();
  await add(q, 'a1', 'a2');
  await add(q, 'a2', 'a3', 'a1', 'b1!');
  expect(await q.redis.get(q.keys.sequence)).toBe('4');
  expect(await Promise.all(['a1', 'a2', 'a3', 'b1!'].map((id) => q.field(id, 'rank')))).toEqual([
    '1', '2', '3', String(4 - 2 ** 40),
  ]); // prettier-ignore
});
