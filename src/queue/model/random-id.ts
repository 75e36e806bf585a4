import { randomBytes } from 'node:crypto';

const ID_LENGTH = 16;
const DRAWN_AT_ONCE = 128;
let drawn = '';
let used = 0;

/**
 * A new job id or claim token: 8 random bytes as hex, as in the Redis documentation's pattern.
 * Many are drawn and written at once; for each alone that would cost more than all the rest of an enqueue.
 */
export function randomId(): string {
  if (used === drawn.length) {
    drawn = randomBytes((DRAWN_AT_ONCE * ID_LENGTH) / 2).toString('hex');
    used = 0;
  }
  used += ID_LENGTH;
  return drawn.slice(used - ID_LENGTH, used);
}
