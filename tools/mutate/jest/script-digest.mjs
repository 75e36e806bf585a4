import { createHash } from 'node:crypto';

/** Returns the digest by which Redis knows a script. */
export function scriptDigest(text) {
  return createHash('sha1').update(text).digest('hex');
}

/** Returns the name that a record has for the text of a script in a Cluster, where that is another one. */
export function inCluster(name) {
  return `${name} in a Cluster`;
}
