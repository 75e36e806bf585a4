// The shards of a queue: where their names fall, and which shard a key has.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import slotOf from 'cluster-key-slot';
import {
  MOST_SHARDS,
  markOfShard,
  shardName,
  shardNames,
  shardOfId,
  shardOfKey,
  shardOfName,
} from '#queue/model/spread.js';
import { isQueueName } from '#queue/validation/names.js';
import { casesOf } from '../../support/run/samples.js';

const SLOTS = 16_384;
const queues = fc.stringMatching(/^[\w.:@/-]{1,100}$/).filter(isQueueName);
const numbers = fc.integer({ min: 1, max: MOST_SHARDS });
const keys = Array.from({ length: 4_000 }, (_, i) => `key ${i}`);

/** Returns the slots between each shard and the next one, on the circle of all slots. */
function distances(names: readonly string[]): number[] {
  const slots = names.map((name) => slotOf(name)).toSorted((a, b) => a - b);
  return slots.map((slot, i) => (slots[(i + 1) % slots.length]! - slot + SLOTS) % SLOTS || SLOTS);
}

it.each([1, 2, 4, 8, 16, 32, 64])('%i shards have the same distance from each other', (shards) => {
  fc.assert(
    fc.property(queues, (queue) => {
      for (const distance of distances(shardNames(queue, shards))) {
        expect(Math.abs(distance - SLOTS / shards)).toBeLessThanOrEqual(16);
      }
    }),
    { numRuns: casesOf(10, 2) },
  );
});

it('any number of shards has distances of which the largest is twice the smallest', () => {
  const all = shardNames('ingest', MOST_SHARDS);
  for (let shards = 2; shards <= MOST_SHARDS; shards++) {
    const found = distances(all.slice(0, shards));
    expect(Math.max(...found)).toBeLessThanOrEqual(2 * Math.min(...found) + 48);
  }
});

it.each([1, 2, 3, 6, 8, 9])('%i masters with equal ranges have a fair part of a power of two', (masters) => {
  fc.assert(
    fc.property(queues, fc.constantFrom(8, 16, 32, 64), (queue, shards) => {
      const counts = Array.from({ length: masters }, () => 0);
      shardNames(queue, shards).forEach((name) => counts[Math.floor((slotOf(name) * masters) / SLOTS)]!++);
      const fair = shards / masters;
      counts.forEach((count) => expect(Math.abs(count - fair)).toBeLessThanOrEqual(1));
    }),
    { numRuns: casesOf(20, 5) },
  );
});

it('the names are always the same, and those of a smaller number come first', () => {
  expect(shardNames('ingest', 4)).toEqual(['ingest', 'ingest@1.to', 'ingest@2.lg', 'ingest@3.4j']);
  fc.assert(
    fc.property(queues, fc.integer({ min: 1, max: 15 }), (queue, shards) => {
      expect(shardNames(queue, 16).slice(0, shards)).toEqual(shardNames(queue, shards));
    }),
    { numRuns: 5 },
  );
});

it('the name of a shard leads to its queue and its number, and another name to none', () => {
  fc.assert(
    fc.property(queues, fc.integer({ min: 1, max: MOST_SHARDS - 1 }), (queue, shard) => {
      expect(shardOfName(shardName(queue, shard))).toEqual({ queue, shard });
    }),
    { numRuns: casesOf(20, 5) },
  );
  for (const name of ['ingest', 'ingest@1', 'ingest@1.', 'ingest@64.a', 'ingest@01.a', '@1.a']) {
    expect([name, shardOfName(name)]).toEqual([name, undefined]);
  }
});

it('every shard gets its part of the keys', () => {
  for (const shards of [1, 2, 3, 8, 64]) {
    const counts = Array.from({ length: shards }, () => 0);
    keys.forEach((key) => counts[shardOfKey(key, shards)]!++);
    const fair = keys.length / shards;
    // Five standard deviations.
    counts.forEach((count) => expect(Math.abs(count - fair)).toBeLessThan(5 * Math.sqrt(fair)));
  }
});

it('one shard more takes its part of the keys, and no other key moves', () => {
  fc.assert(
    fc.property(numbers, (shards) => {
      const moved = keys.filter((key) => shardOfKey(key, shards) !== shardOfKey(key, shards + 1));
      moved.forEach((key) => expect(shardOfKey(key, shards + 1)).toBe(shards));
      const fair = keys.length / (shards + 1);
      expect(Math.abs(moved.length - fair)).toBeLessThan(5 * Math.sqrt(fair));
    }),
    { numRuns: casesOf(20, 5) },
  );
});

it('a key keeps its shard', () => {
  expect(['a', 'tenant 7', 'é'].map((key) => shardOfKey(key, 8))).toEqual([6, 7, 2]);
});

it('an id names its shard at its end', () => {
  for (let shard = 0; shard < MOST_SHARDS; shard++) {
    expect(shardOfId(`Ab12${markOfShard(shard)}`)).toBe(shard);
  }
  for (const id of ['order-17', 'a~64', 'a~07', 'a~3b', '~', 'a~', 'a~-1']) {
    expect([id, shardOfId(id)]).toEqual([id, undefined]);
  }
});
