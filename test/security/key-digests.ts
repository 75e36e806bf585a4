// Digests of the keys of queues, so that two moments can be compared.
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/** A key with less time left may expire between two moments, in ms. Nobody changes it then. */
const SHORT_LIVED_MS = 600_000;

/** Returns a digest of each key of the queues. Leaves out keys that soon expire, and those that `leftOut` names. */
export async function keyDigests(
  redis: Redis,
  queues: readonly string[],
  leftOut: RegExp,
): Promise<Map<string, string>> {
  const found = (await Promise.all(queues.map((name) => redis.keys(`queue:${name}:*`)))).flat();
  const names = found.filter((key) => !leftOut.test(key));
  const pipeline = redis.pipeline();
  // A dump of a hash follows the order of its table, which changes without a write. So its fields are read, and sorted.
  names.forEach((key) => pipeline.pttl(key).dumpBuffer(key).hgetallBuffer(key));
  const replies = (await pipeline.exec())!;
  const digests = new Map<string, string>();
  names.forEach((key, i) => {
    const [[, leftMs], [, dump], [notHash, fields]] = replies.slice(3 * i, 3 * i + 3) as [
      [null, number],
      [null, Buffer | null],
      [Error | null, Record<string, Buffer>],
    ];
    const isShortLived = leftMs >= 0 && leftMs < SHORT_LIVED_MS;
    if (dump && !isShortLived) {
      const hash = createHash('sha1');
      const sorted = notHash
        ? [dump]
        : Object.entries(fields)
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .flat();
      sorted.forEach((each) => hash.update(each).update('\0'));
      digests.set(key, hash.digest('hex'));
    }
  });
  return digests;
}

/** Returns the keys that differ between two moments. */
export function changedKeys(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key));
}
