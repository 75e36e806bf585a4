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
  names.forEach((key) => pipeline.pttl(key).dumpBuffer(key));
  const replies = (await pipeline.exec())!.map(([, reply]) => reply);
  const digests = new Map<string, string>();
  names.forEach((key, i) => {
    const [leftMs, dump] = [replies[2 * i] as number, replies[2 * i + 1] as Buffer | null];
    const isShortLived = leftMs >= 0 && leftMs < SHORT_LIVED_MS;
    if (dump && !isShortLived) {
      digests.set(key, createHash('sha1').update(dump).digest('hex'));
    }
  });
  return digests;
}

/** Returns the keys that differ between two moments. */
export function changedKeys(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key));
}
