// What differs between two overviews: the change of the first makes the second.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { changed, changeOf, type Change } from '#dashboard/views/overview-changes.js';

/** Returns a value as it arrives. */
const sent = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
const fields = () => fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }));

it('a change holds only the fields that differ', () => {
  const before = { a: { b: 1, c: [1, 2] }, d: null, gone: 1 };
  const after = { a: { b: 2, c: [1, 2] }, d: { e: 3 }, added: [] };
  expect(changeOf(before, after)).toEqual({ a: { b: [2] }, d: [{ e: 3 }], added: [[]], gone: [] });
  expect(changeOf(before, structuredClone(before))).toBeUndefined();
});

it('a change makes the second value of the first, whatever they are', () => {
  fc.assert(
    fc.property(fields(), fields(), (before, after) => {
      const change = changeOf(before, after);
      const made = change === undefined ? before : changed(before, sent(change) as Change);
      expect(sent(made)).toEqual(sent(after));
    }),
  );
});

it('a change keeps the parts that have no change', () => {
  const before = { queues: { mail: { depth: 1 }, push: { depth: 2 } } };
  const after = changed(before, { queues: { mail: { depth: [3] } } }) as typeof before;
  expect(after.queues.push).toBe(before.queues.push);
});
