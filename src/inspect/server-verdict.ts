import type { Redis } from 'ioredis';
import { isRedisStore } from '../queue/redis-store.js';
import { isCluster } from '../queue/redis/redis-client.js';
import { within } from '../queue/runtime/waits.js';
import type { QueueStore } from '../queue/store/queue-store.js';
import type { Severity } from './queue-signs.js';
import { OPTIONAL_MS } from './unreadable.js';
import { size } from './words.js';

/** From this share of its memory on a server is nearly full: Redis refuses enqueues once it is. */
const NEARLY_FULL = 0.9;
const FULL = 0.99;

/** The state of one Redis server, as far as jobs depend on it. */
interface ServerSigns {
  usedBytes: number;
  /** 0: without a limit. */
  maxBytes: number;
  /** The policy by which it makes room once it is full, unless it refuses enqueues then: `allkeys-lru`. */
  evicts?: string;
  isReplica: boolean;
  /** True if its last write to the append-only file worked. */
  aofWorks: boolean;
  /** True if its last snapshot worked. */
  snapshotsWork: boolean;
  /** True if it refuses writes after a failed snapshot; undefined where its settings may not be read. */
  needsSnapshots?: boolean;
}

/** One sentence on the Redis of the queues, with the next thing to do. */
export interface ServerVerdict {
  /** The severity of the problem. */
  severity: Severity;
  /** The sentence. @example "Redis is full: 102 % of 64 MB used, and it refuses enqueues" */
  summary: string;
  /** The next step. Absent where there is nothing to do. */
  next?: string;
}

/** The next steps. The dashboard has a command for each. */
export const USE_THE_MASTER = 'connect to the master, or by Sentinel';
export const LOOK_AT_REDIS = 'look at the log and the disk of Redis';
export const RAISE_MEMORY = 'raise maxmemory, or let the workers catch up and keep less';
export const NO_EVICTION = 'set maxmemory-policy to noeviction, and raise maxmemory';

type Rule = (signs: ServerSigns) => ServerVerdict | undefined;

/** The worst first. */
const RULES: readonly Rule[] = [
  replica,
  brokenAof,
  full,
  refusesForSnapshots,
  brokenSnapshots,
  evicting,
  nearlyFull,
];

/** Says in words whether the Redis of the queues takes jobs. Health, CLI and dashboard all use it. */
export function serverVerdictOf(servers: readonly ServerSigns[]): ServerVerdict {
  for (const rule of RULES) {
    for (const signs of servers) {
      const found = rule(signs);
      if (found) {
        return found;
      }
    }
  }
  return { severity: 'ok', summary: 'Redis takes jobs' };
}

/**
 * Reads the server of a store and judges it. That takes one INFO of three sections for each master. After a failed
 * snapshot it also reads the settings. Undefined where the store is in memory, or the user may not ask.
 *
 * @param mostMs the time that a server may take, in ms. One that takes longer is a warning, if the others are well
 */
export async function readServerVerdict(
  store: QueueStore,
  mostMs: number = OPTIONAL_MS,
): Promise<ServerVerdict | undefined> {
  if (!isRedisStore(store)) {
    return undefined;
  }
  const { client } = store.connection;
  const nodes = isCluster(client) ? client.nodes('master') : [client];
  try {
    const read = await Promise.all(
      nodes.map((node) => within(store.clock, mostMs, readServer(node), () => undefined)),
    );
    const there = read.filter((signs) => signs !== undefined);
    const verdict = serverVerdictOf(there);
    return verdict.severity === 'ok' && there.length < nodes.length
      ? silentServers(nodes.length - there.length, nodes.length)
      : verdict;
  } catch {
    return undefined;
  }
}

function silentServers(silent: number, all: number): ServerVerdict {
  const which = all === 1 ? 'Redis' : `${silent} of ${all} masters of Redis`;
  return { severity: 'warning', summary: `${which} gave no reply to INFO`, next: LOOK_AT_REDIS };
}

async function readServer(node: Redis): Promise<ServerSigns> {
  const signs = signsIn(await node.info('memory', 'replication', 'persistence'));
  return signs.snapshotsWork ? signs : { ...signs, needsSnapshots: await stopsWithoutSnapshots(node) };
}

/** Reads whether snapshots are on, and a failed one stops writes. Many hosted servers allow no CONFIG. */
async function stopsWithoutSnapshots(node: Redis): Promise<boolean | undefined> {
  try {
    const [points, stops] = await Promise.all(
      ['save', 'stop-writes-on-bgsave-error'].map((name) => setting(node, name)),
    );
    return points === undefined || stops === undefined ? undefined : points !== '' && stops === 'yes';
  } catch {
    return undefined;
  }
}

async function setting(node: Redis, name: string): Promise<string | undefined> {
  const [, value]: unknown[] = [await node.config('GET', name)].flat();
  return typeof value === 'string' ? value : undefined;
}

/** Reads the signs in the reply to INFO. */
export function signsIn(info: string): ServerSigns {
  const fields = new Map([...info.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, field, value]) => [field, value]));
  const policy = fields.get('maxmemory_policy') ?? 'noeviction';
  const works = (field: string) => (fields.get(field) ?? 'ok') === 'ok';
  return {
    usedBytes: Number(fields.get('used_memory') ?? 0),
    maxBytes: Number(fields.get('maxmemory') ?? 0),
    ...(policy !== 'noeviction' && { evicts: policy }),
    isReplica: fields.get('role') === 'slave',
    aofWorks: works('aof_last_write_status'),
    snapshotsWork: works('rdb_last_bgsave_status'),
  };
}

const critical = (summary: string, next: string): ServerVerdict => ({ severity: 'critical', summary, next });
const warning = (summary: string, next: string): ServerVerdict => ({ severity: 'warning', summary, next });

function replica({ isReplica }: ServerSigns): ServerVerdict | undefined {
  return isReplica
    ? critical('Redis is a replica and takes no writes: nothing is enqueued or claimed', USE_THE_MASTER)
    : undefined;
}

function brokenAof({ aofWorks }: ServerSigns): ServerVerdict | undefined {
  return aofWorks
    ? undefined
    : critical('Redis cannot write its append-only file, and refuses writes for it', LOOK_AT_REDIS);
}

function full(signs: ServerSigns): ServerVerdict | undefined {
  return shareOf(signs) >= FULL
    ? critical(
        `Redis is full: ${memoryOf(signs)}, and it ${signs.evicts ? `deletes ${deletedBy(signs.evicts)}` : 'refuses enqueues'}`,
        signs.evicts ? NO_EVICTION : RAISE_MEMORY,
      )
    : undefined;
}

/**
 * Returns a warning if Redis may delete keys. A Redis without a memory limit deletes nothing, whatever its policy.
 */
function evicting({ evicts, maxBytes }: ServerSigns): ServerVerdict | undefined {
  return evicts !== undefined && maxBytes > 0
    ? warning(
        `Redis may delete ${deletedBy(evicts)}: its maxmemory-policy is ${evicts}, and maxmemory ${size(maxBytes)}`,
        NO_EVICTION,
      )
    : undefined;
}

function deletedBy(policy: string): string {
  return policy.startsWith('volatile') ? 'keys that expire, such as results' : 'keys, waiting jobs too';
}

function nearlyFull(signs: ServerSigns): ServerVerdict | undefined {
  return shareOf(signs) >= NEARLY_FULL
    ? warning(`Redis is nearly full: ${memoryOf(signs)}; once it is full it refuses enqueues`, RAISE_MEMORY)
    : undefined;
}

/** Finds a master that refuses all writes after a failed snapshot, as Redis does by default. */
function refusesForSnapshots({ snapshotsWork, needsSnapshots }: ServerSigns): ServerVerdict | undefined {
  return snapshotsWork || needsSnapshots === false
    ? undefined
    : critical(
        `Redis could not write its last snapshot, and refuses writes for it${needsSnapshots ? '' : ' or soon will'}`,
        LOOK_AT_REDIS,
      );
}

function brokenSnapshots({ snapshotsWork }: ServerSigns): ServerVerdict | undefined {
  return snapshotsWork
    ? undefined
    : warning(
        'Redis could not write its last snapshot; it takes jobs, and would lose them where it stops',
        LOOK_AT_REDIS,
      );
}

function shareOf({ usedBytes, maxBytes }: ServerSigns): number {
  return maxBytes > 0 ? usedBytes / maxBytes : 0;
}

function memoryOf(signs: ServerSigns): string {
  return `${Math.round(shareOf(signs) * 100)} % of ${size(signs.maxBytes)} used`;
}
