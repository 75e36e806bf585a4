import { createHash } from 'node:crypto';

/** Returns the digest by which Redis knows a script. */
export function scriptDigest(text) {
  return createHash('sha1').update(text).digest('hex');
}
