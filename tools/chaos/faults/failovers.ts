// Failovers in the middle of work. Each function returns how many claims were in flight. Without claims in flight it
// does no harm, and the run tries again. So each recorded fault is at most one failover.
import type { Redis } from 'ioredis';
import type { OwnRedis } from '../../../test/support/redis/own-redis.js';
import { connect } from '../../../test/support/redis/redis.js';
import { eventually, sleep } from '../../../test/support/faults/wait.js';
import { inFlight } from './claims.js';
import type { Scene } from './scene.js';
import { monotonicMs } from '../histories/clock.js';
import { strength, type PlannedFault } from '../plan.js';
import { inside } from '../../../test/support/queue/inside.js';

/** The end of a hang: Sentinel leaves 6 s between two failovers, a Cluster elects again after as long. */
const SWITCH_MS = 120_000;

/** A time longer than a failover may take. */
const ASK_AGAIN_MS = 5_000;

/** Returns the master that has calls in flight, and since when its replicas have everything; undefined for no calls. */
async function busyMaster(scene: Scene) {
  const { history } = scene;
  const sentinel = scene.ground.sentinel!;
  const old = await sentinel.masterNow();
  const hits = await inFlight(scene);
  return hits === 0 ? undefined : { sentinel, history, old, hits, fromMs: await replicated(clientOf(old)) };
}

export async function killUnderSentinel(scene: Scene): Promise<number> {
  const found = await busyMaster(scene);
  if (!found) return 0;
  const { sentinel, history, old, hits, fromMs } = found;
  await old.kill();
  const heir = await otherMaster(old, () => sentinel.masterNow());
  history.add(['window', fromMs, monotonicMs()]);
  await old.restart();
  await followAgain(clientOf(old), heir);
  return hits;
}

/**
 * Replaces a silent master that later continues: there are two masters, with clients at both. Writes to the old master
 * are lost. The sentinels demote it to a replica eight seconds after they see it again.
 */
export async function freezeUnderSentinel(scene: Scene, planned: PlannedFault): Promise<number> {
  const found = await busyMaster(scene);
  if (!found) return 0;
  const { sentinel, history, old, hits, fromMs } = found;
  await old.kill('SIGSTOP');
  await otherMaster(old, () => sentinel.masterNow());
  await sleep(strength(planned, 0, 3_000));
  await old.kill('SIGCONT');
  await follows(clientOf(old));
  history.add(['window', fromMs, monotonicMs()]);
  return hits;
}

/**
 * Promotes a replica while the old master continues, and loses writes until its demotion. We demote it at once; the
 * sentinels would do so after eight seconds.
 */
export async function switchUnderSentinel(scene: Scene): Promise<number> {
  const found = await busyMaster(scene);
  if (!found) return 0;
  const { sentinel, history, old, hits, fromMs } = found;
  let askedAtMs = -Infinity;
  const heir = await otherMaster(old, async () => {
    const master = await sentinel.masterNow();
    if (master === old && monotonicMs() - askedAtMs > ASK_AGAIN_MS) {
      askedAtMs = monotonicMs();
      await sentinel.failOver();
    }
    return master;
  });
  await followAgain(clientOf(old), heir);
  history.add(['window', fromMs, monotonicMs()]);
  return hits;
}

/** Switches by CLUSTER FAILOVER. Nothing may be lost: the master stops until its replica has everything. */
export async function switchInCluster(scene: Scene): Promise<number> {
  const { ground, queue } = scene;
  const cluster = ground.cluster!;
  const ownerNow = await ownerOf(cluster, queue);
  const old = await ownerNow();
  const hits = await inFlight(scene);
  if (hits === 0) return 0;
  await cluster.node(await cluster.replicaOf(old)).call('CLUSTER', 'FAILOVER');
  await otherMaster(old, ownerNow);
  await follows(cluster.node(old));
  return hits;
}

export async function killInCluster(scene: Scene): Promise<number> {
  const { ground, queue, history } = scene;
  const cluster = ground.cluster!;
  const ownerNow = await ownerOf(cluster, queue);
  const old = await ownerNow();
  const hits = await inFlight(scene);
  if (hits === 0) return 0;
  const fromMs = await replicated(cluster.node(old), `soak-probe:{${queue.name}}`);
  await old.kill();
  await otherMaster(old, ownerNow);
  history.add(['window', fromMs, monotonicMs()]);
  await old.restart();
  await follows(cluster.node(old));
  return hits;
}

/** Moves half of the keys of a slot to another master for a while. Returns how many keys are there then. */
export async function moveSlot({ ground, queue }: Scene, planned: PlannedFault): Promise<number> {
  const cluster = ground.cluster!;
  const owner = await (await ownerOf(cluster, queue))();
  const masters: OwnRedis[] = [];
  for (const node of cluster.nodes) {
    const info = await cluster.node(node).info('replication');
    if (node !== owner && info.includes('role:master')) masters.push(node);
  }
  const { keys } = await inside(queue).scripts();
  const target = masters[Math.floor(planned.victim * masters.length)]!;
  const node = cluster.node(target);
  const slot = await node.cluster('KEYSLOT', keys.stats);
  let hits = 0;
  await cluster.moveSlot(keys.stats, target, async () => {
    hits = Number(await node.call('CLUSTER', 'COUNTKEYSINSLOT', slot));
    await sleep(strength(planned, 0, 1_000));
  });
  return hits;
}

async function ownerOf(cluster: NonNullable<Scene['ground']['cluster']>, queue: Scene['queue']) {
  const { keys } = await inside(queue).scripts();
  return () => cluster.ownerOf(keys.stats);
}

/** Resolves with an instant (ms) before which the replica has all that the master acknowledged. */
async function replicated(master: Redis, key = 'soak-probe'): Promise<number> {
  let atMs = 0;
  await eventually(
    async () => {
      atMs = monotonicMs();
      await master.set(key, 1);
      return (await master.wait(1, 1_000)) >= 1;
    },
    { timeoutMs: SWITCH_MS, what: 'a replica that acknowledges' },
  );
  await master.unlink(key);
  return atMs;
}

function otherMaster(old: OwnRedis, now: () => Promise<OwnRedis>): Promise<OwnRedis> {
  const other = async () => {
    const master = await now().catch(() => old);
    return master !== old && master;
  };
  return eventually(other, { timeoutMs: SWITCH_MS, what: 'a failover' });
}

/**
 * Makes the old master follow the new one. If the sentinels did so first, it loads data and refuses other commands.
 */
async function followAgain(old: Redis, heir: OwnRedis): Promise<void> {
  const told = async () => {
    try {
      return await old.replicaof(heir.host, heir.port);
    } catch (error) {
      if ((error as Error).message.startsWith('LOADING')) return false;
      throw error;
    }
  };
  await eventually(told, { timeoutMs: SWITCH_MS, what: 'an old master that can be made a replica' });
  await follows(old);
}

async function follows(replica: Redis): Promise<void> {
  const info = () => replica.info('replication').catch(() => '');
  await eventually(async () => (await info()).includes('master_link_status:up'), {
    timeoutMs: SWITCH_MS,
    what: 'an old master that follows the new one',
  });
}

const clients = new WeakMap<OwnRedis, Redis>();

function clientOf(server: OwnRedis): Redis {
  let client = clients.get(server);
  if (!client) {
    client = connect({ retryStrategy: () => 100, maxRetriesPerRequest: null }, server.url);
    client.on('error', () => undefined); // it is killed
    clients.set(server, client);
  }
  return client;
}
