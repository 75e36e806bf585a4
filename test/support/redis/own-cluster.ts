// A Redis Cluster, as in production: a test file's own.
import { Cluster, type ClusterOptions, type Redis } from 'ioredis';
import { freePort } from '../../../scripts/redis/redis-server.mjs';
import { startOwnRedis, type OwnRedis } from './own-redis.js';
import type { Certificates } from './certificates.js';
import { connect } from './redis.js';
import { FAST_REPLICATION, kept } from './replicas.js';
import { eventually } from '../faults/wait.js';

export interface OwnCluster {
  /** Three masters, and then their replicas, in the same order. */
  nodes: OwnRedis[];
  connect(options?: ClusterOptions): Cluster;
  /** Returns a client of one node, and of no other. */
  node(server: OwnRedis): Redis;
  /** Returns the node that serves a key's slot now. */
  ownerOf(key: string): Promise<OwnRedis>;
  /** Returns the replica of a master. */
  replicaOf(master: OwnRedis): Promise<OwnRedis>;
  /** Lets nodes with TLS refer clients to each other by this name. They show these certificates from then on. */
  announce(hostname: string, certificates: Certificates): Promise<void>;
  /** Moves a slot to another master while clients are at work; `halfway` runs when half of its keys have moved. */
  moveSlot(key: string, to: OwnRedis, halfway: () => Promise<void>): Promise<void>;
  /** Resolves when all nodes know which one serves a key's slot. A client may ask any of them. */
  agreeOn(key: string): Promise<void>;
}

const SLOTS = 16_384;

/** The end of a hang: six servers that find each other on a busy machine. It takes them two seconds at least. */
const START = { timeoutMs: 60_000, everyMs: 25 };

/**
 * Starts three masters, optionally each with a replica.
 *
 * @param nodeTimeoutMs a master that is silent for this long is replaced
 * @param certificates of all nodes, which then accept only TLS
 * @param binary the program of another server than that of all tests
 */
export async function startCluster({
  replicas = false,
  nodeTimeoutMs = 1_600,
  certificates,
  binary,
}: {
  replicas?: boolean;
  nodeTimeoutMs?: number;
  certificates?: Certificates;
  binary?: string | undefined;
} = {}): Promise<OwnCluster> {
  const size = replicas ? 6 : 3;
  const nodes = await Promise.all(
    Array.from({ length: size }, () => startNode(nodeTimeoutMs, certificates, binary)),
  );
  const controls = new Map(nodes.map((server) => [server, control(server, certificates)]));
  const node = (server: OwnRedis) => controls.get(server)!;
  const ids = await Promise.all(nodes.map(async (server) => node(server).cluster('MYID')));
  const [first] = nodes;
  for (const [i, server] of nodes.entries()) {
    await node(server).call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
    if (i < 3) await node(server).call('CLUSTER', 'ADDSLOTSRANGE', ...range(i));
    if (server !== first) await node(first!).call('CLUSTER', 'MEET', first!.host, server.port, busOf(server));
  }
  await eventually(async () => (await lines(node(first!))).length === nodes.length, START);
  await Promise.all(
    nodes.slice(3).map(async (server, i) => {
      await eventually(async () => (await lines(node(server))).some((line) => line.startsWith(ids[i]!)), START);
      await node(server).call('CLUSTER', 'REPLICATE', ids[i]!);
    }),
  );
  await Promise.all(
    nodes.map((server) => eventually(() => isWhole(node(server)), { ...START, what: 'a whole cluster' })),
  );
  const slotOf = async (key: string): Promise<number> => {
    const alive = nodes.find((server) => node(server).status === 'ready')!; // a killed server gives no reply
    return Number(await node(alive).call('CLUSTER', 'KEYSLOT', key));
  };
  const ownerOf = async (key: string): Promise<OwnRedis> => {
    const slot = await slotOf(key);
    for (const server of nodes) {
      const held = await slotsOf(node(server)).catch(() => []); // a dead server owns nothing
      if (held.some(([from, to]) => from <= slot && slot <= to)) return server;
    }
    throw new Error(`no node serves the slot ${slot} of ${key}`);
  };
  return {
    nodes,
    node,
    connect: (options = {}) =>
      kept(
        new Cluster(
          nodes.map(({ host, port }) => ({ host, port })),
          {
            clusterRetryStrategy: () => 100,
            slotsRefreshTimeout: 2_000,
            redisOptions: { disconnectTimeout: 100, ...(certificates && { tls: { ca: certificates.ca } }) },
            ...options,
          },
        ),
      ),
    ownerOf,
    replicaOf: (master) => {
      const id = ids[nodes.indexOf(master)]!;
      const known = async () => {
        const line = (await lines(node(master))).find((each) => each.split(' ')[3] === id);
        return nodes.find((each) => line?.includes(`:${each.port}@`));
      };
      // After a failover the old master becomes a replica once it learns of it.
      return eventually(known, { what: `a replica of ${master.port}` });
    },
    announce: async (hostname, { files }) => {
      const shown = ['tls-cert-file', files.cert, 'tls-key-file', files.key, 'tls-ca-cert-file', files.ca];
      const named = ['cluster-announce-hostname', hostname, 'cluster-preferred-endpoint-type', 'hostname'];
      await Promise.all(nodes.map((server) => node(server).call('CONFIG', 'SET', ...shown, ...named)));
      await Promise.all(nodes.map((server) => eventually(() => namesAll(node(server), hostname), START)));
    },
    moveSlot: async (key, to, halfway) => {
      const slot = await slotOf(key);
      const from = node(await ownerOf(key));
      const [source, target] = [await from.cluster('MYID'), await node(to).cluster('MYID')];
      await node(to).call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source);
      await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target);
      const move = async (count: number) => {
        const keys = (await from.call('CLUSTER', 'GETKEYSINSLOT', slot, count)) as string[];
        if (keys.length > 0) await from.call('MIGRATE', to.host, to.port, '', 0, 5_000, 'KEYS', ...keys);
        return keys.length;
      };
      await move(Math.ceil(Number(await from.call('CLUSTER', 'COUNTKEYSINSLOT', slot)) / 2));
      await halfway();
      while ((await move(1_000)) > 0);
      for (const each of [node(to), from]) await each.call('CLUSTER', 'SETSLOT', slot, 'NODE', target);
    },
    agreeOn: async (key) => {
      const slot = await slotOf(key);
      const agree = async () =>
        new Set(await Promise.all(nodes.map((each) => servedBy(node(each), slot)))).size === 1;
      await eventually(agree, { what: 'one owner of a slot' });
    },
  };
}

/** Returns the id of the master that serves a slot, as a node knows it. */
async function servedBy(node: Redis, slot: number): Promise<string | undefined> {
  const ranges = await node.cluster('SLOTS');
  return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2]?.[2];
}

function control(server: OwnRedis, certificates: Certificates | undefined): Redis {
  // The certificate may be for a name only, and this is the address.
  const tls = certificates && { tls: { ca: certificates.ca, checkServerIdentity: () => undefined } };
  const client = connect({ retryStrategy: () => 100, ...tls }, server.url);
  client.on('error', () => undefined); // it may be killed
  return client;
}

/** The ports of the cluster's bus, by server: the usual one, port + 10,000, may not exist. */
const buses = new WeakMap<OwnRedis, number>();

async function startNode(timeoutMs: number, certificates?: Certificates, binary?: string): Promise<OwnRedis> {
  const bus = await freePort();
  const clustered = [
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    `${timeoutMs}`,
    '--cluster-port',
    String(bus),
  ];
  const server = await startOwnRedis({
    args: [
      ...clustered,
      '--cluster-config-file',
      'nodes.conf',
      ...FAST_REPLICATION,
      ...(certificates ? ['--tls-cluster', 'yes'] : []),
    ],
    ...(certificates && { tls: certificates.files }),
    ...(binary !== undefined && { binary }),
  });
  buses.set(server, bus);
  return server;
}

function busOf(server: OwnRedis): number {
  return buses.get(server)!;
}

function range(i: number): [number, number] {
  const size = Math.ceil(SLOTS / 3);
  return [i * size, Math.min(SLOTS, (i + 1) * size) - 1];
}

async function lines(node: Redis): Promise<string[]> {
  return String(await node.cluster('NODES'))
    .split('\n')
    .filter(Boolean);
}

/** Returns the slots that a node serves, by its own view. */
async function slotsOf(node: Redis): Promise<[number, number][]> {
  if (node.status !== 'ready') return [];
  const mine = (await lines(node)).find((line) => line.includes('myself'));
  if (!mine?.includes('myself,master')) return [];
  return mine
    .split(' ')
    .slice(8)
    .filter((slots) => !slots.startsWith('['))
    .map((slots) => slots.split('-').map(Number))
    .map(([from, to = from]) => [from!, to!]);
}

async function isWhole(node: Redis): Promise<boolean> {
  const all = await lines(node);
  const info = await node.cluster('INFO');
  const follows = !(await node.info('replication')).includes('master_link_status:down');
  const isJoined = info.includes('cluster_state:ok') && !all.some((line) => /handshake|fail/.test(line));
  return isJoined && follows;
}

/** Returns whether the node knows each name. Names spread by gossip, and until then it reports "?". */
async function namesAll(node: Redis, hostname: string): Promise<boolean> {
  const slots = (await node.call('CLUSTER', 'SLOTS')) as [from: number, to: number, ...servers: [string][]][];
  return slots.flatMap(([, , ...servers]) => servers).every(([name]) => name === hostname);
}
