import { createHash } from 'node:crypto';

/** Returns the digest by which Redis knows a script. */
export function scriptDigest(text) {
  return createHash('sha1').update(text).digest('hex');
}

/** Returns the name under which a record has the text of a script for a Cluster. */
export function inCluster(name) {
  return `${name} in a Cluster`;
}
