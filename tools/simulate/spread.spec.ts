// Jobs of a queue with shards run as one job each, and groups keep their order, although processes die. A named seed finds each
// planted fault.
import { expect, it } from '@jest/globals';
import { someOf } from '../../test/support/run/samples.js';
import { type SpreadPlant, spreadOver } from './spread.js';

/** The faults of producers, each with what it breaks. */
const PLANTS: Record<string, [breaks: string, plant: SpreadPlant]> = {
  'a producer picks the shard from another number': ['a group ran in two shards', { number: 2 }],
  'a producer knows a shard that nobody serves': ['a job is lost', { number: 4 }],
  'a repeated enqueue goes to the next shard': ['a job was added twice', { repeatsElsewhere: true }],
};

it.each(someOf([1, 2, 3, 4, 5, 6, 7, 8], 8))(
  'each once and in order, while processes are killed: seed %d',
  async (seed) => {
    expect(await spreadOver(seed)).toEqual([]);
  },
);

it.each(someOf(Object.entries(PLANTS), 3))('finds that %s', async (_, [breaks, plant]) => {
  expect(await spreadOver(1, plant)).toContain(breaks);
});
