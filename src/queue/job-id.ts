import { randomFillSync } from 'node:crypto';

const ID_BYTES = 8;
const pool = Buffer.allocUnsafe(ID_BYTES * 512);
let used = pool.length;

/**
 * A new job id or claim token: 8 random bytes as hex, as in the Redis documentation's pattern.
 * Random bytes are drawn 512 ids at a time; one call each would cost more than all the rest of an enqueue.
 */
export function randomId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.toString('hex', used - ID_BYTES, used);
}
