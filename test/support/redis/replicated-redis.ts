// A master with a replica, both of this test file's own.
import type { Redis } from 'ioredis';
import { startOwnRedis, type OwnRedis } from './own-redis.js';
import { connect } from './redis.js';
import { eventually } from '../faults/wait.js';

export interface ReplicatedRedis {
  master: OwnRedis;
  replica: OwnRedis;
  /** To the master. */
  redis: Redis;
}

/** Starts both; resolves once the replica is in step. */
export async function startReplicatedRedis(): Promise<ReplicatedRedis> {
  const master = await startOwnRedis({ args: ['--repl-diskless-sync-delay', '0', '--repl-timeout', '3600'] });
  const replica = await startOwnRedis({ args: ['--replicaof', master.host, String(master.port)] });
  const redis = connect({}, master.url);
  await eventually(async () => (await redis.info('replication')).includes('state=online'), { what: 'a replica' });
  return { master, replica, redis };
}
