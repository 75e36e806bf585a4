import { expect, it } from '@jest/globals';
import { cutScript } from '../../support/queue/cut-script.js';
import { testQueue } from '../../support/queue/queue-state.js';

it('has a turn for each of many groups that enter at once, and for no other', async () => {
  const q = testQueue();
  const groups = Array.from({ length: 30 }, (_, i) => `g${10 + i}`);
  await q.run(
    q.scripts.enqueue(groups.map((group) => ({ id: group, name: q.name, payload: '{}', options: { group } }))),
  );
  expect((await q.ranked(`${q.keys.groupsPrefix}turns`)).toSorted()).toEqual(groups);
  const listed = await q.run(q.scripts.groups.list({ by: 'depth', offset: 0, limit: 99 }));
  expect(listed.map(({ name }) => name).toSorted()).toEqual(groups);
});

it('lists the groups by their jobs or by the age of their heads, in pages', async () => {
  const q = testQueue();
  for (const id of ['b', 'c1', 'c2', 'a1', 'a2', 'a3']) await q.add(id, { group: id[0] });
  const pages = (by: 'depth' | 'age') =>
    Promise.all(
      [0, 1, 2].map(async (offset) => {
        const page = await q.run(q.scripts.groups.list({ by, offset, limit: 2 }));
        return page.map(({ name }) => name).join('');
      }),
    );
  expect(await pages('depth')).toEqual(['ac', 'cb', 'b']);
  expect(await pages('age')).toEqual(['bc', 'ca', 'a']);
});

it('lists no group that a broken script has left between two writes of many groups, once the sweep has tidied', async () => {
  const names = Array.from({ length: 30 }, (_, i) => `g${10 + i}`);
  const jobs = names.map((group) => ({ id: group, payload: '{}', options: { group } }));
  const filler = '-'.repeat(257);
  const seen: string[] = [];
  let isCut = true;
  for (let n = 1; isCut; n++) {
    const q = testQueue();
    q.broken = true;
    const call = q.scripts.enqueue(jobs.map((job) => ({ ...job, name: q.name })));
    isCut = await cutScript(q.redis, call, n);
    for (const set of ['depths', 'heads'] as const) {
      const key = `${q.keys.groupsPrefix}${set}`;
      if (await q.redis.zscore(key, filler)) seen.push(set);
      await q.run(q.scripts.sweep.tidy({ limit: 100 }));
      expect(names).toEqual(expect.arrayContaining(await q.ranked(key)));
    }
    const listed = await q.run(q.scripts.groups.list({ by: 'depth', offset: 0, limit: 99 }));
    expect(names).toEqual(expect.arrayContaining(listed.map(({ name }) => name)));
  }
  expect(seen.length).toBeGreaterThan(0);
});
