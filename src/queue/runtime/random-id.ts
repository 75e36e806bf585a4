import { randomBytes } from 'node:crypto';

const ID_LENGTH = 11;
const BYTES_DRAWN = 1_056;
let drawn = '';
let used = 0;

/**
 * Returns a new job id or claim token: 11 letters and digits, 65 random bits. An id is in a key and in a list for each
 * job. The 16 hex digits of the Redis pattern would cost 20 bytes more per job. Clients of the pattern accept any text.
 * About 120 ids are drawn at once. Drawing each alone would cost more than the rest of an enqueue.
 */
export function randomId(): string {
  if (used + ID_LENGTH > drawn.length) {
    drawn = randomBytes(BYTES_DRAWN).toString('base64').replace(/[+/]/g, '');
    used = 0;
  }
  used += ID_LENGTH;
  return drawn.slice(used - ID_LENGTH, used);
}
