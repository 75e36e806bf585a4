import { expect, it } from '@jest/globals';
import { MoverOvertakenError } from '#migrate/queue/transit.js';
import { newPlaces } from '../../../support/migrate/places.js';

it('adds a job once, also if it has run and was forgotten since', async () => {
  const { from, to, old, target, right } = await newPlaces();
  await from.enqueue(1, { id: 'a' });
  await old.take('pending', ['a']);
  const jobs = await old.inTransit();
  expect(await target.put(right, jobs)).toEqual(['new']);
  await to.complete((await to.claim())!, null);
  await to.remove('a');
  expect(await target.put(right, jobs)).toEqual(['known']);
  expect(await to.get('a')).toBeNull();
  await old.acknowledge(jobs);
});

it('refuses an id in use and a unique key in use, without a mark', async () => {
  const { from, to, old, target, right } = await newPlaces();
  const unique = { key: 'k', for: 'unfinished' } as const;
  await from.enqueue(1, { id: 'a' });
  await from.enqueue(1, { id: 'b', unique });
  await to.enqueue(1, { id: 'a' });
  await to.enqueue(1, { id: 'other', unique });
  await old.take('pending', ['a', 'b']);
  const jobs = await old.inTransit();
  expect(await target.put(right, jobs)).toEqual(['existing', 'unique']);
  await to.remove('other');
  expect(await target.put(right, jobs)).toEqual(['existing', 'new']);
  await old.giveBack(jobs.slice(0, 1));
  await old.acknowledge(jobs.slice(1));
});

it('refuses a dead letter over the cap, without a mark', async () => {
  const { from, to, old, target, right } = await newPlaces({ deadLetterCap: 1 });
  await from.resume();
  for (const queue of [from, to]) {
    const { id } = await queue.enqueue(1, { maxAttempts: 1 });
    await queue.fail((await queue.claim())!, new Error(`no ${id}`));
  }
  const [letter] = await from.list('failed');
  await old.take('dead', [letter!.id]);
  const jobs = await old.inTransit();
  expect(await target.put(right, jobs)).toEqual(['full']);
  await to.deadLetters.discardAll();
  expect(await target.put(right, jobs)).toEqual(['new']);
  await old.acknowledge(jobs);
});

it('is refused for a mover with a smaller fence', async () => {
  const { from, to, old, target, right } = await newPlaces();
  await from.enqueue(1, { id: 'a' });
  await old.take('pending', ['a']);
  const jobs = await old.inTransit();
  await target.put({ ...right, fence: right.fence + 1 }, []);
  await expect(target.put(right, jobs)).rejects.toThrow(MoverOvertakenError);
  expect(await to.get('a')).toBeNull();
  await old.giveBack(jobs);
});
