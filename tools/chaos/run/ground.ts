// The servers of a run: one server, a master under Sentinel, or a Cluster.
import type { Redis } from 'ioredis';
import { startRedisServer, type RunningRedis } from '../../../scripts/redis/redis-server.mjs';
import type { JobQueue } from '#queue/job-queue.js';
import type { RedisClient } from '#queue/redis/redis-client.js';
import { stopOwnRedis } from '../../../test/support/redis/own-redis.js';
import { closeConnections } from '../../../test/support/redis/redis.js';
import { startCluster, type OwnCluster } from '../../../test/support/redis/own-cluster.js';
import { disconnectClients } from '../../../test/support/redis/replicas.js';
import { startSentinelSet, type SentinelSet } from '../../../test/support/redis/sentinel-set.js';
import { connectTo, type Line } from '../processes/line.js';
import type { Topology } from '../plan.js';
import { inside } from '../../../test/support/queue/inside.js';

/**
 * Sentinel replaces a server that is silent for this long. A server that waits for a processor must not be replaced,
 * because nobody checks that loss.
 */
const SILENT_MS = 4_000;

export interface Ground {
  line: Line;
  /** A client that no fault targets. */
  admin: RedisClient;
  /** The URLs of all servers that may run scripts. */
  urls: readonly string[];
  /** Undefined where it is not ours, or not alone. */
  server?: RunningRedis;
  sentinel?: SentinelSet;
  cluster?: OwnCluster;
  /** Returns a client of the server that holds the keys of a queue now. */
  holderOf(queue: JobQueue): Promise<Redis>;
  stop(): Promise<void>;
}

interface GroundOptions {
  topology: Topology;
  /** A server of the user's, which is not harmed. Without it the run starts its own. */
  redisUrl: string | undefined;
  /** True if a killed server keeps what it had acknowledged. */
  durable: boolean;
}

export async function prepareGround({ topology, redisUrl, durable }: GroundOptions): Promise<Ground> {
  if (topology === 'sentinel') return onSentinel(await startSentinelSet({ downAfterMs: SILENT_MS }));
  if (topology === 'cluster') return onCluster(await startCluster({ replicas: true, nodeTimeoutMs: SILENT_MS }));
  if (redisUrl !== undefined) return onServer(redisUrl);
  const args = durable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : [];
  return onServer(await startRedisServer({ quiet: true, args }));
}

function onServer(given: string | RunningRedis): Ground {
  const server = typeof given === 'string' ? undefined : given;
  const line = { kind: 'server', url: typeof given === 'string' ? given : given.url } as const;
  const admin = adminOf(line);
  return {
    line,
    admin,
    urls: [line.url],
    ...(server && { server }),
    holderOf: () => Promise.resolve(admin as Redis),
    stop: async () => {
      admin.disconnect();
      await server?.stop();
    },
  };
}

function onSentinel(sentinel: SentinelSet): Ground {
  const line: Line = { kind: 'sentinel', name: 'jobs', sentinels: sentinel.sentinels };
  const admin = adminOf(line);
  const urls = [sentinel.master.url, sentinel.replica.url];
  const holderOf = () => Promise.resolve(admin as Redis);
  return { line, admin, urls, sentinel, holderOf, stop: () => stopAll(admin) };
}

function onCluster(cluster: OwnCluster): Ground {
  const line: Line = { kind: 'cluster', nodes: cluster.nodes.map(({ host, port }) => ({ host, port })) };
  const admin = adminOf(line);
  const holderOf = async (queue: JobQueue) =>
    cluster.node(await cluster.ownerOf((await inside(queue).scripts()).keys.stats));
  return { line, admin, urls: cluster.nodes.map(({ url }) => url), cluster, holderOf, stop: () => stopAll(admin) };
}

function adminOf(line: Line): RedisClient {
  const admin = connectTo(line, 'soak-runner', { reconnectOnError: leaveReplica });
  admin.on('error', () => undefined);
  return admin;
}

async function stopAll(admin: RedisClient): Promise<void> {
  admin.disconnect();
  disconnectClients();
  await closeConnections();
  await stopOwnRedis();
}

/** Replaces the connection and asks again, as the library does. */
function leaveReplica(error: Error): 2 | false {
  return error.message.startsWith('READONLY') ? 2 : false;
}
