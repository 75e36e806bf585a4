import { expect, it } from '@jest/globals';
import { testQueue, type TestQueue } from '../../support/queue/queue-state.js';

const awaiting = async (q: TestQueue, limit = 3) => q.run(q.scripts.groups.awaitingPermit({ limit }));

const scored = (score: string) => Array.from({ length: 1_200 }, (_, i) => [score, `g${i}`]).flat();

/** Adds jobs of a group, and puts the first one back for want of a permit. */
async function rest(q: TestQueue, group: string, jobs: number): Promise<void> {
  for (let i = 0; i < jobs; i++) {
    await q.add(`${group}-${i}`, { group });
  }
  const [job] = await q.claim(1);
  await q.run(q.scripts.release([{ ...job!, reason: 'permit', delayMs: 5_000, unstarted: true }]));
}

it('counts the groups that rest for a permit, and names those with the longest lines', async () => {
  const q = testQueue();
  expect(await awaiting(q)).toEqual({ groups: 0, jobs: 0, names: [] });
  await rest(q, 'acme', 2);
  await rest(q, 'bolt', 3);
  await rest(q, 'cog', 2);
  expect(await awaiting(q)).toEqual({ groups: 3, jobs: 7, names: ['bolt', 'acme', 'cog'] });
  expect(await awaiting(q, 1)).toEqual({ groups: 3, jobs: 7, names: ['bolt'] });
});

it('counts no group whose rest is over, or for which a permit came', async () => {
  const q = testQueue();
  await rest(q, 'acme', 1);
  await rest(q, 'bolt', 1);
  await q.run(q.scripts.groups.endRest({ name: 'acme' }));
  expect(await awaiting(q)).toMatchObject({ groups: 1, names: ['bolt'] });
  await q.redis.zadd(`${q.keys.groupsPrefix}keyed`, String((await q.now()) - 1), 'bolt');
  expect(await awaiting(q)).toMatchObject({ groups: 0 });
});

it('looks at the lines of a thousand groups', async () => {
  const q = testQueue();
  const until = String((await q.now()) + 5_000);
  await q.redis.zadd(`${q.keys.groupsPrefix}keyed`, ...scored(until));
  await q.redis.zadd(`${q.keys.groupsPrefix}depths`, ...scored('1'));
  expect(await awaiting(q, 0)).toEqual({ groups: 1_200, jobs: 1_000, names: [] });
  await q.redis.del(`${q.keys.groupsPrefix}keyed`, `${q.keys.groupsPrefix}depths`); // no queue looks so
});
