// The shards of a queue over all masters: their names, and the shard of a key. docs/internals/spread.md has the reasons.
import slotOf from 'cluster-key-slot';
import { wholeNumber } from '../validation/numbers.js';

/** The most shards of a queue. */
export const MOST_SHARDS = 64;

/** The option `spread`, wherever it is set. */
export const spreadFields = { spread: wholeNumber(1, MOST_SHARDS).optional() };

/** The slots of a Cluster, and the bits of their numbers. */
const SLOTS = 16_384;
const SLOT_BITS = 14;

/** How far the slot of a shard may be from its place. A name within it takes a thousand tries. */
const TOLERANCE = 8;

/**
 * Returns the names of the shards of a queue. The first shard is the queue itself, so a client that knows of no shards adds
 * jobs that are served. The others have slots that cut the distances between those before them in half. So the shards of
 * a smaller number are the first ones of a larger number.
 */
export function shardNames(queue: string, shards: number): string[] {
  return Array.from({ length: shards }, (_, shard) => shardName(queue, shard));
}

/** Returns the name of one shard: always the same one for a queue and a number. It does not ask the Cluster. */
export function shardName(queue: string, shard: number): string {
  if (shard === 0) return queue;
  const place = placeOf(queue, shard);
  for (let tries = 0; ; tries++) {
    const name = `${queue}@${shard}.${tries.toString(36)}`;
    if (isNear(place, name)) return name;
  }
}

const SHARD_NAME = /^(.+)@([1-9]\d?)\.[0-9a-z]+$/;

/** Returns the queue of a shard by the shard's name, and its number; undefined for any other name. */
export function shardOfName(name: string): { queue: string; shard: number } | undefined {
  const [, queue, number] = SHARD_NAME.exec(name) ?? [];
  const shard = Number(number);
  return queue !== undefined && shard < MOST_SHARDS && isNear(placeOf(queue, shard), name)
    ? { queue, shard }
    : undefined;
}

/** Returns the name of the queue that a shard is part of; any other name unchanged. */
export function wholeOfShard(name: string): string {
  return shardOfName(name)?.queue ?? name;
}

/** Returns the names of queues, each once, with that of the queue for each shard. */
export function wholesOf(names: readonly string[]): string[] {
  return [...new Set(names.map(wholeOfShard))];
}

/** Returns a function that says whether a name is one of several shards of a queue among these names. */
export function shardsAmong(names: readonly string[]): (name: string) => boolean {
  const wholes = names.map(wholeOfShard);
  const spread = new Set(wholes.filter((whole, i) => wholes.indexOf(whole) < i));
  return (name) => spread.has(wholeOfShard(name));
}

/** Returns how many shards of a queue are among these names. A queue that never had shards has one. */
export function shardsIn(queue: string, names: readonly string[]): number {
  const numbers = names.flatMap((name) => {
    const found = shardOfName(name);
    return found?.queue === queue ? [found.shard + 1] : name === queue ? [1] : [];
  });
  return Math.max(0, ...numbers);
}

/** Returns the slot that is the place of a shard, counted from the slot of the queue. */
function placeOf(queue: string, shard: number): number {
  return slotOf(queue) + bitsReversed(shard);
}

/** Returns whether a name has a slot near a place. */
function isNear(place: number, name: string): boolean {
  return (slotOf(name) - place + 2 * SLOTS + TOLERANCE) % SLOTS <= 2 * TOLERANCE;
}

/** Returns the number whose bits are those of another in reverse order: 0, 1/2, 1/4, 3/4, 1/8 … of all slots. */
function bitsReversed(number: number): number {
  let reversed = 0;
  for (let bit = 0; bit < SLOT_BITS; bit++) {
    reversed = (reversed << 1) | ((number >> bit) & 1);
  }
  return reversed;
}

/** Returns the shard of a key. With one shard more, one key of that many moves, and always to the new shard. */
export function shardOfKey(key: string, shards: number): number {
  return jumpHash(hashOf(key), shards);
}

/** Returns 32 bits of a text by FNV-1a. A digest of `node:crypto` costs more than the rest of an enqueue. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return hash;
}

/**
 * Returns a bucket of a number. This is the jump hash of John Lamping and Eric Veach: A Fast, Minimal Memory, Consistent Hash
 * Algorithm, 2014. Its random numbers come from a generator of 32 bits, because one of 64 bits needs BigInt here.
 */
function jumpHash(key: number, buckets: number): number {
  let [bucket, next] = [-1, 0];
  for (let state = key; next < buckets;) {
    bucket = next;
    state = (state + 0x6d2b79f5) | 0;
    next = Math.floor((bucket + 1) / randomOf(state));
  }
  return bucket;
}

/** Returns a number above 0 and at most 1, by the generator mulberry32. */
function randomOf(state: number): number {
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return (((mixed ^ (mixed >>> 14)) >>> 0) + 1) / 2 ** 32;
}

const MARK = /~(0|[1-9]\d?)$/;

/** Returns the end of the ids that are made for a shard. */
export function markOfShard(shard: number): string {
  return `~${shard}`;
}

/** Returns the shard that an id names at its end; undefined if it names none. */
export function shardOfId(id: string): number | undefined {
  const mark = MARK.exec(id);
  const shard = Number(mark?.[1]);
  return mark && shard < MOST_SHARDS ? shard : undefined;
}
