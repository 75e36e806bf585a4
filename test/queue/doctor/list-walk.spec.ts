import { expect, it } from '@jest/globals';
import { ListWalk } from '#queue/doctor/doctor.js';

/** Returns the result of a walk over these slices, one after the other. */
function walk(...slices: string[]): { fresh: string; again: string } {
  const steps = new ListWalk();
  const takes = slices.map((slice) => steps.take(slice.split('')));
  return {
    fresh: takes.map(({ fresh }) => fresh.join('')).join(' '),
    again: takes.map(({ again }) => again.join('')).join(' '),
  };
}

it.each([
  ['a list that does not change', ['abc', 'def', 'g'], 'abc def g', '  '],
  ['one id came at the head: the last slice ends in the next', ['abc', 'cde', 'f'], 'abc de f', '  '],
  ['a whole slice came', ['abc', 'abc', 'bcd'], 'abc  d', '  '],
  ['an id twice in one slice', ['aba'], 'ab', 'a'],
  ['an id twice, the second time in a later slice', ['abc', 'dbe'], 'abc de', ' b'],
  ['an id twice, the second time at the beginning of a slice', ['abc', 'bde'], 'abc de', ' b'],
])('%s', (_, slices, fresh, again) => {
  expect(walk(...slices)).toEqual({ fresh, again });
});
