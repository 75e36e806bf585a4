import { expect, it } from '@jest/globals';
import { randomId } from '#queue/runtime/random-id.js';

it('gives ids of eleven letters and digits, none twice', () => {
  const ids = Array.from({ length: 10_000 }, randomId);
  expect(ids.filter((id) => !/^[0-9A-Za-z]{11}$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});
