// Redis users with few permissions.
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { scriptCommands } from '#queue/digests.generated.js';
import type { OwnCluster } from './own-cluster.js';
import { connect } from './redis.js';

/** The permissions that a queue needs, as docs/redis.md prints them. */
export const MINIMAL_PERMISSIONS = [
  'resetkeys',
  '~queue:*',
  'resetchannels',
  '&queue:*',
  '-@all',
  ...'+eval +evalsha +bzpopmin +info +ping +subscribe +unsubscribe +client|setname'.split(' '),
  ...scriptCommands.filter((command) => command !== 'pubsub').map((command) => `+${command}`),
  ...'+pubsub|numsub +pubsub|numpat'.split(' '),
].join(' ');

/** Further permissions for the doctor, which scans all keys to find a job that is in no list. */
export const DOCTOR_PERMISSIONS = '+scan +hscan';

/** Further permissions of every Cluster client: to find the slots, to follow one that moves, and for wakes. */
export const CLUSTER_PERMISSIONS =
  '+cluster|slots +cluster|info +asking +readonly +ssubscribe +sunsubscribe +spublish +pubsub|shardnumsub';

/** Connects as the user `queue`, who has only these permissions. Its password is `pw` unless they say. */
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

/** Creates a user in a Cluster, on every node. Earlier refusals are forgotten. */
export async function createClusterUser(cluster: OwnCluster, permissions: string): Promise<Cluster> {
  for (const server of cluster.nodes) {
    const node = cluster.node(server);
    await node.call('ACL', 'SETUSER', 'queue', 'reset', 'on', '>pw', ...permissions.split(' '));
    await node.call('ACL', 'LOG', 'RESET');
  }
  return cluster.connect({ redisOptions: { username: 'queue', password: 'pw', disconnectTimeout: 100 } });
}

/** Returns the commands that the nodes have refused since. */
export async function refusedCommands(cluster: OwnCluster): Promise<Set<string>> {
  const logs = await Promise.all(cluster.nodes.map((server) => cluster.node(server).call('ACL', 'LOG')));
  return new Set((logs as string[][][]).flat().map((entry) => entry[entry.indexOf('object') + 1]!));
}
