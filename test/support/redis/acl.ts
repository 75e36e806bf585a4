// Redis users with few permissions.
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { SCRIPT_COMMANDS } from '#queue/scripts/script-permissions.js';
import type { OwnCluster } from './own-cluster.js';
import { connect } from './redis.js';

/** What a queue needs of a Redis user; docs/reliability.md prints the same. */
export const MINIMAL_PERMISSIONS = [
  'resetkeys',
  '~queue:*',
  'resetchannels',
  '&queue:*',
  '-@all',
  ...'+eval +evalsha +bzpopmin +info +ping +subscribe +unsubscribe +client|setname'.split(' '),
  ...SCRIPT_COMMANDS.filter((command) => command !== 'pubsub').map((command) => `+${command}`),
  ...'+pubsub|numsub +pubsub|numpat'.split(' '),
].join(' ');

/** What the doctor needs beside: to find a job that is in no list, it looks at all keys. */
export const DOCTOR_PERMISSIONS = '+scan +zscan +hscan';

/** What a client of a Cluster needs beside, whatever it is used for: to find the slots, and to follow one that moves. */
export const CLUSTER_PERMISSIONS = '+cluster|slots +cluster|info +asking +readonly';

/** A connection of the user `queue`, who has these permissions and no others; its password is `pw` unless they say. */
export async function createUser(
  admin: Redis,
  url: string,
  permissions: string,
  options: RedisOptions = {},
): Promise<Redis> {
  await admin.call('ACL', 'SETUSER', 'queue', 'reset', 'on', '>pw', ...permissions.split(' '));
  const user = connect({ username: 'queue', password: 'pw', ...options }, url);
  user.on('error', () => undefined);
  return user;
}

/** The same for a Cluster: each node has users of its own. What was refused before is forgotten. */
export async function createClusterUser(cluster: OwnCluster, permissions: string): Promise<Cluster> {
  for (const server of cluster.nodes) {
    const node = cluster.node(server);
    await node.call('ACL', 'SETUSER', 'queue', 'reset', 'on', '>pw', ...permissions.split(' '));
    await node.call('ACL', 'LOG', 'RESET');
  }
  return cluster.connect({ redisOptions: { username: 'queue', password: 'pw', disconnectTimeout: 100 } });
}

/** The commands that the nodes have refused since. */
export async function refusedCommands(cluster: OwnCluster): Promise<Set<string>> {
  const logs = await Promise.all(cluster.nodes.map((server) => cluster.node(server).call('ACL', 'LOG')));
  return new Set((logs as string[][][]).flat().map((entry) => entry[entry.indexOf('object') + 1]!));
}
