import { expect, it } from '@jest/globals';
import { OvertakenError } from '#migrate/bullmq-source.js';
import { SeededQueue } from '../../../support/bullmq/seed-bullmq.js';
import { connect } from '../../../support/redis/redis.js';

async function seeded(): Promise<SeededQueue> {
  const old = new SeededQueue(connect());
  await old.source.begin();
  return old;
}

it('takes jobs of a list in the given order, and leaves their hashes', async () => {
  const old = await seeded();
  for (const id of ['a', 'b', 'c']) await old.wait(id);
  expect(await old.source.take('wait', ['c', 'a', 'gone'])).toBe(2);
  expect(await old.line()).toEqual(['b']);
  expect((await old.source.inTransit()).map(({ id, place }) => [id, place])).toEqual([
    ['c', 'wait'],
    ['a', 'wait'],
  ]);
  expect(await old.redis.exists(old.key('a'), old.key('c'))).toBe(2);
});

it('keeps the score of a delayed and of a prioritized job', async () => {
  const old = await seeded();
  await old.delayed('later', 1_900_000_000_123);
  await old.prioritized('urgent', 3);
  await old.source.take('delayed', ['later']);
  await old.source.take('prioritized', ['urgent']);
  const [later, urgent] = await old.source.inTransit();
  expect(Math.floor(later!.score / 4_096)).toBe(1_900_000_000_123);
  expect(Math.floor(urgent!.score / 2 ** 32)).toBe(3);
});

it('takes the priority of a job of Bull 4 along, and leaves none for a job that gets its id', async () => {
  const old = await seeded();
  await old.wait('a');
  const { priority } = old.source.keys;
  await old.redis.zadd(priority, '3', 'a', '5', 'other');
  await old.source.take('wait', ['a']);
  expect(await old.redis.zrange(priority, '0', '-1')).toEqual(['other']);
  await old.source.giveBack(await old.source.inTransit(), 'bull');
  expect(await old.redis.zscore(priority, 'a')).toBe('3');
});

it('gives each take a key of its own, also for an id that comes again', async () => {
  const old = await seeded();
  const entries = new Set<string>();
  for (let i = 0; i < 2; i++) {
    await old.wait('a');
    await old.source.take('wait', ['a']);
    const [job] = await old.source.inTransit();
    entries.add(job!.entry);
    await old.source.acknowledge([job!]);
  }
  expect(entries.size).toBe(2);
});

it('takes nothing when repeated, or after another mover has begun', async () => {
  const old = await seeded();
  await old.wait('a');
  expect(await old.source.take('wait', ['a'])).toBe(1);
  expect(await old.source.take('wait', ['a'])).toBe(0);
  await old.wait('b');
  await old.redis.hincrby(old.source.keys.mover, 'fence', 1);
  await expect(old.source.take('wait', ['b'])).rejects.toThrow(OvertakenError);
  expect(await old.line()).toEqual(['b']);
});
