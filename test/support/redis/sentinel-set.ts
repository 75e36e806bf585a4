// A master with its replica, as in production under Sentinel: a test file's own.
import { Redis, type RedisOptions } from 'ioredis';
import { startOwnRedis, type OwnRedis } from './own-redis.js';
import { connect } from './redis.js';
import { FAST_REPLICATION, kept, startReplica } from './replicas.js';
import { eventually } from '../faults/wait.js';

export interface SentinelSet {
  master: OwnRedis;
  replica: OwnRedis;
  sentinels: { host: string; port: number }[];
  /** Returns the current master. Rejects while the sentinels do not agree. */
  masterNow(): Promise<OwnRedis>;
  /** The number of times the sentinels have replaced the master. */
  readonly failovers: number;
  /** Asks the sentinels to replace the master, though nothing is wrong with it. They may refuse, or give up. */
  failOver(): Promise<void>;
  /** Returns a client that finds the master by the sentinels. */
  connect(options?: RedisOptions): Redis;
  /** Resolves when the sentinels have made the replica the master. */
  switched(): Promise<void>;
}

/**
 * Starts a master, its replica, and three sentinels with a quorum of two.
 *
 * @param downAfterMs a server that is silent for this long is replaced, also if it lacks a processor
 */
export async function startSentinelSet({ downAfterMs = 1_000 } = {}): Promise<SentinelSet> {
  const master = await startOwnRedis({ args: FAST_REPLICATION });
  const replica = await startReplica(master);
  const config = `
    sentinel monitor jobs 127.0.0.1 ${master.port} 2
    sentinel down-after-milliseconds jobs ${downAfterMs}
    sentinel failover-timeout jobs 3000
  `;
  const servers = await Promise.all([1, 2, 3].map(() => startOwnRedis({ config, args: ['--sentinel'] })));
  const sentinels = servers.map(({ host, port }) => ({ host, port }));
  const watchers = servers.map(({ url }) => connect({}, url));
  const watcher = watchers[0]!;
  await eventually(() => knowsOthers(watcher), {
    timeoutMs: 60_000,
    what: 'a sentinel that knows its peers and the replica',
  });
  let failovers = 0;
  const listener = connect({}, servers[0]!.url);
  listener.on('message', () => failovers++);
  await listener.subscribe('+switch-master');
  return {
    master,
    replica,
    sentinels,
    get failovers() {
      return failovers;
    },
    connect: (options = {}) =>
      kept(
        new Redis({
          sentinels,
          name: 'jobs',
          maxRetriesPerRequest: null,
          disconnectTimeout: 100,
          retryStrategy: () => 200, // the default pauses of ioredis grow to 2 s, the whole bound
          ...options,
        }),
      ),
    masterNow: async () => {
      const ports = await Promise.all(watchers.map(async (each) => Number((await addressOfMaster(each))[1])));
      const agreed = [master, replica].find(({ port }) => ports.every((each) => each === port));
      if (agreed) return agreed;
      throw new Error(`no master that all sentinels agree on: found the ports ${ports.join(', ')}`);
    },
    failOver: async () => {
      await watcher.call('SENTINEL', 'FAILOVER', 'jobs').catch(() => undefined);
    },
    switched: async () => {
      await eventually(async () => Number((await addressOfMaster(watcher))[1]) === replica.port, {
        what: 'a failover by the sentinels',
      });
    },
  };
}

async function knowsOthers(sentinel: Redis): Promise<boolean> {
  const facts = (await sentinel.call('SENTINEL', 'MASTER', 'jobs')) as string[];
  const fact = (name: string) => facts[facts.indexOf(name) + 1];
  return fact('num-slaves') === '1' && fact('num-other-sentinels') === '2' && fact('flags') === 'master';
}

async function addressOfMaster(sentinel: Redis): Promise<string[]> {
  return (await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'jobs')) as string[];
}
