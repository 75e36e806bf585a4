import { expect, it } from '@jest/globals';
import type { DeadLetterQuery } from '#queue/store/job-queries.js';
import { expectUnchanged, testQueue, type TestQueue } from '../../support/queue/queue-state.js';

/** Adds dead letters that failed at these times, with hashes of their own. */
async function seed(q: TestQueue, letters: Record<string, { at: number; name?: string; last_error?: string }>) {
  for (const [id, { at, ...fields }] of Object.entries(letters)) {
    await q.redis.zadd(q.keys.dead, at, id);
    await q.redis.hset(q.keys.job(id), { id, status: 'failed', payload: '{}', ...fields });
  }
}

/** Returns all slices of a query, one after the other. */
async function all(q: TestQueue, query: DeadLetterQuery, looks = 2, most = 10): Promise<string[][]> {
  const scripts = q.scripts.deadLetters;
  const slices: string[][] = [];
  let place = query.place;
  do {
    const { found, next } = await q.run(scripts.list({ ...query, place, looks, most, withJobs: false }));
    slices.push(found.map(({ id }) => id));
    place = next;
  } while (place);
  return slices;
}

it('finds nothing on an empty queue', async () => {
  const q = testQueue();
  expect(await expectUnchanged(q, () => all(q, { order: 'oldest' }))).toEqual([[]]);
  expect(await all(q, { order: 'newest' })).toEqual([[]]);
});

it('I4: goes through all in bounded slices, from either end, also through many of one moment', async () => {
  const q = testQueue();
  await seed(q, { a: { at: 1 }, b: { at: 2 }, c: { at: 2 }, d: { at: 2 }, e: { at: 3 } });
  expect(await all(q, { order: 'oldest' })).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  expect(await all(q, { order: 'newest' })).toEqual([['e', 'd'], ['c', 'b'], ['a']]);
  expect(await all(q, { order: 'oldest' }, 10, 2)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  expect(await all(q, { order: 'newest' }, 10, 3)).toEqual([
    ['e', 'd', 'c'],
    ['b', 'a'],
  ]);
});

it('continues behind the last one also when that is gone', async () => {
  const q = testQueue();
  await seed(q, { a: { at: 2 }, c: { at: 2 }, d: { at: 3 } });
  const place = { at: '2', id: 'b' };
  expect(await all(q, { order: 'oldest', place })).toEqual([['c', 'd']]);
  expect(await all(q, { order: 'newest', place })).toEqual([['a']]);
});

it('I4: tells ids apart of which one begins or ends with the other', async () => {
  const q = testQueue();
  await seed(q, { a: { at: 2 }, aa: { at: 2 }, ab: { at: 2 }, b: { at: 2 }, ba: { at: 2 } });
  expect(await all(q, { order: 'oldest' }, 1)).toEqual([['a'], ['aa'], ['ab'], ['b'], ['ba']]);
  expect(await all(q, { order: 'newest' }, 1)).toEqual([['ba'], ['b'], ['ab'], ['aa'], ['a']]);
});

it('filters by name, by a text of the error in either case, and by both', async () => {
  const q = testQueue();
  await seed(q, {
    a: { at: 1, name: 'email', last_error: 'connect ECONNREFUSED' },
    b: { at: 2, name: 'email', last_error: '100% [broken]' },
    c: { at: 3, name: 'sms', last_error: 'connect econnrefused' },
    d: { at: 4, last_error: 'no' },
  });
  expect((await all(q, { order: 'oldest', name: 'email' })).flat()).toEqual(['a', 'b']);
  expect((await all(q, { order: 'oldest', error: 'EconnRefused' })).flat()).toEqual(['a', 'c']);
  expect((await all(q, { order: 'oldest', error: '% [' })).flat()).toEqual(['b']);
  expect((await all(q, { order: 'newest', error: 'CONN', name: 'sms' })).flat()).toEqual(['c']);
});

it('I5: filters by age, by the clock of the server, and by the last time that counts', async () => {
  const q = testQueue();
  const now = await q.now();
  await seed(q, { old: { at: now - 60_000 }, middle: { at: now - 30_000 }, young: { at: now - 1 } });
  expect((await all(q, { order: 'oldest', olderThanMs: 20_000 })).flat()).toEqual(['old', 'middle']);
  expect((await all(q, { order: 'oldest', newerThanMs: 40_000 })).flat()).toEqual(['middle', 'young']);
  expect((await all(q, { order: 'newest', olderThanMs: 20_000, newerThanMs: 40_000 })).flat()).toEqual(['middle']);
  expect((await all(q, { order: 'oldest', untilMs: now - 30_000 })).flat()).toEqual(['old', 'middle']);
});

it('returns the hashes where they are asked for', async () => {
  const q = testQueue();
  await seed(q, { a: { at: 1, name: 'email' } });
  await q.redis.zadd(q.keys.dead, 2, 'gone');
  q.broken = true; // a dead letter without a hash
  const { found } = await q.run(
    q.scripts.deadLetters.list({ order: 'oldest', looks: 10, most: 10, withJobs: true }),
  );
  expect(found.map(({ id, job }) => [id, job?.name])).toEqual([
    ['a', 'email'],
    ['gone', undefined],
  ]);
});
