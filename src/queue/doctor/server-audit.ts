import type { ResolvedQueueOptions } from '../model/queue-options.js';
import type { QueueAccess } from '../store/queue-store.js';
import type { Redis } from 'ioredis';
import { RedisUnsuitableError } from '../errors/errors.js';
import { isCluster, type RedisClient } from '../redis/redis-client.js';
import { QueueKeys } from '../scripts/queue-keys.js';
import { PARTS_BEFORE_IDS } from '../validation/key-table.js';

/** Something about a Redis server that endangers jobs. */
export interface ServerFinding {
  /** The checked subject. */
  subject: 'maxmemory-policy' | 'persistence' | 'role' | 'keys';
  /** The server, if there are several, or the queue. */
  where: string;
  /** The expected value. */
  expected: string;
  /** The found value. */
  found: string;
  /** The danger, and what to do. */
  remedy: string;
}

/** The audit at boot found what endangers jobs, and the option `audit: 'error'` refuses such a server. */
export class RedisAuditError extends RedisUnsuitableError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'REDIS_AUDIT';

  constructor(
    address: string,
    /** Findings, each with the expected value, the found value and the remedy. */
    readonly findings: readonly ServerFinding[],
  ) {
    super(`Redis at ${address} endangers jobs: ${findings.map(describeFinding).join('; ')}`);
  }
}

/** A queue whose keys are looked for. */
interface KeyedQueue extends Pick<QueueAccess, 'name'> {
  readonly options: Pick<ResolvedQueueOptions, 'prefix' | 'hashTag'>;
}

/**
 * Checks the server for risks to jobs: a policy that evicts keys, missing or failing persistence, and a replica. Also
 * finds keys of a queue in the other spelling (with or without braces). Finds those of a queue with an impossible name. Skips checks that the ACL user may not do.
 * Changes nothing.
 *
 * @param cluster whether the queues' names are wrapped in braces unless their options say otherwise
 */
export async function auditServer(
  client: RedisClient,
  cluster: boolean,
  queues: readonly KeyedQueue[],
): Promise<ServerFinding[]> {
  const nodes = isCluster(client) ? client.nodes('master') : [client];
  const servers = await Promise.all(nodes.map((node) => auditNode(node, nodes.length > 1)));
  const keys = await Promise.all(
    queues.flatMap((queue) => [auditSpelling(client, cluster, queue), auditNames(client, cluster, queue)]),
  );
  return [...servers.flat(), ...keys.flat()];
}

/** Returns a finding as one line of the log. */
export function describeFinding({ subject, where, expected, found, remedy }: ServerFinding): string {
  return `${subject}${where && ` of ${where}`}: expected ${expected}, found ${found}. ${remedy}`;
}

async function auditNode(node: Redis, several: boolean) {
  const info = readInfo(await node.info());
  const where = several ? `${node.options.host}:${node.options.port}` : '';
  return [...memoryOf(info), ...roleOf(info), ...(await persistenceOf(node, info))].map(
    (finding): ServerFinding => ({ ...finding, where }),
  );
}

type Found = Omit<ServerFinding, 'where'>;

/** Returns what a policy deletes: with `volatile` only keys with a lifetime, see docs/redis.md. */
function deletedBy(policy: string): string {
  return policy.startsWith('volatile')
    ? 'results that nobody has read yet, chunks of streams, and cancels on their way to a worker'
    : 'waiting jobs and whole queues';
}

function memoryOf(info: Map<string, string>): Found[] {
  const policy = info.get('maxmemory_policy');
  if (policy === undefined || policy === 'noeviction') {
    return [];
  }
  const unlimited = info.get('maxmemory') === '0' ? ', without effect while maxmemory is 0' : '';
  return [
    {
      subject: 'maxmemory-policy',
      expected: 'noeviction',
      found: `${policy}${unlimited}`,
      remedy:
        `When memory is short Redis deletes ${deletedBy(policy)}, silently. Set maxmemory-policy to noeviction ` +
        '(CONFIG SET, and in redis.conf), and use another server for caches.',
    },
  ];
}

function roleOf(info: Map<string, string>): Found[] {
  return info.get('role') === 'slave'
    ? [
        {
          subject: 'role',
          expected: 'a master',
          found: `a replica of ${info.get('master_host')}:${info.get('master_port')}`,
          remedy:
            'A replica takes no writes, so nothing can be enqueued or claimed. Connect to the master, or by Sentinel.',
        },
      ]
    : [];
}

async function persistenceOf(node: Redis, info: Map<string, string>) {
  const subject = 'persistence' as const;
  const findings: Found[] = [];
  if (info.get('aof_enabled') === '0') {
    const save = await configOf(node, 'save');
    const snapshots =
      save === undefined ? '' : save === '' ? ' and no snapshots' : ` and snapshots (save "${save}")`;
    findings.push({
      subject,
      expected: 'appendonly yes',
      found: `appendonly no${snapshots}`,
      remedy:
        'When Redis crashes, jobs that were acknowledged are lost' +
        `${save === '' || save === undefined ? '' : ', back to the last snapshot'}. ` +
        'Set appendonly to yes (CONFIG SET, and in redis.conf) where jobs must outlive a crash.',
    });
  } else if ((await configOf(node, 'appendfsync')) === 'no') {
    findings.push({
      subject,
      expected: 'appendfsync everysec or always',
      found: 'appendfsync no',
      remedy: 'A crash of the machine loses about the last 30 s of jobs. Set appendfsync to everysec or always.',
    });
  }
  for (const field of ['aof_last_write_status', 'rdb_last_bgsave_status']) {
    const status = info.get(field) ?? 'ok';
    if (status !== 'ok') {
      findings.push({
        subject,
        expected: `${field} ok`,
        found: status,
        remedy:
          'Redis cannot write to its disk, and refuses writes for it or soon will. Look at its log and its disk.',
      });
    }
  }
  return findings;
}

/** Returns a setting; undefined where CONFIG is forbidden or renamed, as by many providers. */
async function configOf(node: Redis, setting: string): Promise<string | undefined> {
  try {
    const reply = (await node.config('GET', setting)) as unknown[];
    return reply.length > 1 ? String(reply[1]) : undefined;
  } catch {
    return undefined;
  }
}

async function auditSpelling(client: RedisClient, cluster: boolean, { name, options }: KeyedQueue) {
  const { prefix, hashTag = cluster } = options;
  const other = new QueueKeys(name, { prefix, hashTag: !hashTag });
  const { pending, prioritized, scheduled, claims, dead } = other;
  const places = [pending, prioritized, scheduled, claims, dead];
  // Checks the keys one by one, because on a Cluster keys without braces are in different slots.
  const exist = await Promise.all(places.map((key) => client.exists(key).catch(() => 0)));
  const found = places.filter((_, i) => exist[i] === 1);
  const finding: ServerFinding = {
    subject: 'keys',
    where: `queue "${name}"`,
    expected: `keys spelled ${new QueueKeys(name, { prefix, hashTag }).pending}`,
    found: found.join(', '),
    remedy:
      'Jobs wait under the other spelling, which this process does not serve. Set hashTag as the process that made them, ' +
      'and let it work them off, or delete those keys.',
  };
  return found.length > 0 ? [finding] : [];
}

/** Finds queues as `report:job`, which share keys with the queue `report`. Braces keep them apart. */
async function auditNames(client: RedisClient, cluster: boolean, { name, options }: KeyedQueue) {
  const { prefix, hashTag = cluster } = options;
  if (hashTag) {
    return [];
  }
  const { pending, completed } = new QueueKeys(name, { prefix, hashTag });
  const base = pending.slice(0, -'pending'.length);
  const lists = PARTS_BEFORE_IDS.flatMap((part) =>
    [pending, completed].map((key) => ({
      key: `${base}${part}:${key.slice(base.length)}`,
      queue: `${name}:${part}`,
    })),
  );
  // Nearly always nothing exists, so one command does.
  const isAny = await client.exists(...lists.map(({ key }) => key)).catch(() => 0);
  // A job's id may be `pending`. Its key is a hash.
  const types = isAny ? await Promise.all(lists.map(({ key }) => client.type(key).catch(() => 'none'))) : [];
  return lists
    .filter((_, i) => types[i] === 'list')
    .map(({ key, queue }): ServerFinding => ({
      subject: 'keys',
      where: `queue "${name}"`,
      expected: `no queue "${queue}", whose keys are among those of "${name}"`,
      found: key,
      remedy: `Let the clients that made "${queue}" work off its jobs, give it another name, and delete its keys.`,
    }));
}

function readInfo(text: string): Map<string, string> {
  return new Map([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, field, value]) => [field!, value!]));
}
