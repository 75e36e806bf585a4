import { expect, it } from '@jest/globals';
import { randomId } from '#queue/runtime/clock.js';

it('random ids have eleven letters and digits, and none comes twice', () => {
  const ids = Array.from({ length: 10_000 }, randomId);
  expect(ids.filter((id) => !/^[0-9A-Za-z]{11}$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});
