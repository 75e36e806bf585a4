import { expect, it } from '@jest/globals';
import { newPlaces } from '../../../support/migrate/places.js';

it('returns jobs to the front of their lines, in their order, and does nothing again', async () => {
  const { from, old } = await newPlaces();
  for (const id of ['a', 'b', 'c']) await from.enqueue(1, { id });
  await from.enqueue(1, { id: 'u', priority: 5 });
  const before = await from.get('a');
  await old.take('pending', ['a', 'b']);
  await old.take('prioritized', ['u']);
  const jobs = await old.inTransit();
  await old.giveBack(jobs);
  await old.giveBack(jobs);
  expect((await from.list('pending')).map(({ id }) => id)).toEqual(['u', 'a', 'b', 'c']);
  expect(await from.get('a')).toEqual(before);
});

it('returns a dead letter to the dead letters with its kind', async () => {
  const { from, old } = await newPlaces();
  await from.resume();
  await from.enqueue(1, { id: 'a', maxAttempts: 1 });
  await from.fail((await from.claim())!, new TypeError('no'));
  const [kinds, before] = [await from.deadLetters.kinds(), await from.get('a')];
  await old.take('dead', ['a']);
  expect(await from.deadLetters.kinds()).toEqual([]);
  await old.giveBack(await old.inTransit());
  expect(await from.get('a')).toEqual(before);
  expect(await from.deadLetters.kinds()).toMatchObject([{ kind: kinds[0]!.kind, count: 1 }]);
});
