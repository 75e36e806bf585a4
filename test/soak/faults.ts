// The faults themselves. Each resolves when what it broke works again, and only the queue has yet to recover.
import type { Redis } from 'ioredis';
import type { JobQueue } from '../../src/queue/job-queue.js';
import { holdUnique, orphan, plant } from './damage.js';
import { deployEarlier, restartWorkers } from './deploys.js';
import {
  freezeUnderSentinel,
  killInCluster,
  killUnderSentinel,
  moveSlot,
  switchInCluster,
  switchUnderSentinel,
} from './failovers.js';
import type { Fleet, Slot } from './fleet.js';
import type { Ground } from './ground.js';
import type { HistoryWriter } from './history.js';
import { strength, victim, type FaultKind, type PlannedFault } from './plan.js';

const HOUR_MS = 3_600_000;
const VISIBILITY_MS = 3_000;

export interface Scene {
  fleet: Fleet;
  ground: Ground;
  queue: JobQueue;
  history: HistoryWriter;
}

type Fault = (scene: Scene, planned: PlannedFault) => Promise<void>;

export const FAULTS: Record<FaultKind, Fault> = {
  kill: async ({ fleet }, planned) => {
    const slot = victim(fleet.workers, planned);
    await fleet.kill(slot);
    await fleet.start(slot);
  },

  freeze: async ({ fleet }, planned) => {
    const { child } = victim(fleet.workers, planned);
    child!.kill('SIGSTOP');
    await sleep(strength(planned, VISIBILITY_MS + 500, VISIBILITY_MS + 2_500));
    child!.kill('SIGCONT');
  },

  block: async ({ fleet }, planned) => {
    const ms = strength(planned, VISIBILITY_MS + 500, VISIBILITY_MS + 2_500);
    fleet.order(victim(fleet.workers, planned), { type: 'block', ms });
    await sleep(ms);
  },

  'kill-producer': async ({ fleet }, planned) => {
    const slot = victim(fleet.producers, planned);
    await fleet.kill(slot);
    await fleet.start(slot);
  },

  'rolling-restart': restartWorkers,
  'earlier-version': deployEarlier,

  'clock-off': async ({ fleet }, planned) => {
    const slot = victim(fleet.slots, planned);
    slot.clockOffMs = planned.strength < 0.5 ? HOUR_MS : -HOUR_MS;
    await fleet.stop(slot);
    await fleet.start(slot);
  },

  cut: async ({ fleet }, planned) => {
    for (const { proxy } of victims(fleet, planned)) proxy?.refuse();
    await sleep(strength(planned, 0, 2_000));
    for (const { proxy } of victims(fleet, planned)) proxy?.heal();
  },

  'half-open': async ({ fleet }, planned) => {
    for (const { proxy } of victims(fleet, planned)) proxy?.pause();
    await sleep(strength(planned, 500, 3_000));
    // New connections pass again; those that were there stay dead, and nobody is told.
    for (const { proxy } of victims(fleet, planned)) proxy?.heal();
  },

  slow: async ({ fleet }, planned) => {
    for (const { proxy } of victims(fleet, planned)) proxy?.delay(strength(planned, 50, 500));
    await sleep(4_000);
    for (const { proxy } of victims(fleet, planned)) {
      proxy?.cut(); // what is still on its way would be overtaken by what comes after
      proxy?.delay(0);
    }
  },

  'lost-replies': async ({ fleet }, planned) => {
    for (let round = 0; round < 5; round++) {
      await Promise.race([
        Promise.all(victims(fleet, planned).map(async ({ proxy }) => proxy?.loseReplyTo('evalsha'))),
        sleep(1_000),
      ]);
    }
    // Where too little was asked, no later reply is lost for it.
    for (const { proxy } of victims(fleet, planned)) proxy?.heal();
  },

  'client-kill': async ({ fleet, ground }) => {
    const admin = ground.admin as Redis;
    const names = new Set(fleet.slots.map(({ name }) => name));
    for (const line of String(await admin.client('LIST')).split('\n')) {
      const [, id] = /^id=(\d+)/.exec(line) ?? [];
      const [, name] = / name=(\S+)/.exec(line) ?? [];
      if (id && name && names.has(name)) await admin.client('KILL', 'ID', id);
    }
  },

  'delete-hash': (scene, planned) => plant(scene, planned, 'deleted', "redis.call('UNLINK', KEYS[1])"),

  'break-hash': async (scene, planned) => {
    await plant(scene, planned, 'another type', "redis.call('SET', KEYS[1], 'broken')");
    await plant(scene, planned, 'no payload', "redis.call('HDEL', KEYS[1], 'payload')");
    await plant(scene, planned, 'no JSON', "redis.call('HSET', KEYS[1], 'payload', '{\"p\":')");
  },

  misplace: async (scene, planned) => {
    await orphan(scene, planned);
    await holdUnique(scene);
  },

  'script-flush': async ({ ground }) => {
    await (ground.admin as Redis).script('FLUSH');
  },

  'redis-kill': async ({ ground: { server } }, planned) => {
    await server!.kill('SIGKILL');
    await sleep(strength(planned, 0, 3_000));
    await server!.restart();
  },

  'redis-freeze': async ({ ground: { server } }, planned) => {
    await server!.kill('SIGSTOP');
    await sleep(strength(planned, 1_000, VISIBILITY_MS + 2_000));
    await server!.kill('SIGCONT');
  },

  'out-of-memory': async ({ ground }, planned) => {
    const admin = ground.admin as Redis;
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.config('SET', 'maxmemory', '1mb');
    await sleep(strength(planned, 1_000, 3_000));
    await admin.config('SET', 'maxmemory', '0');
  },

  readonly: async ({ ground }, planned) => {
    const admin = ground.admin as Redis;
    // The replica of a server that is not there: it keeps its data and refuses writes.
    await admin.replicaof('127.0.0.1', '1');
    await sleep(strength(planned, 500, 3_000));
    await admin.replicaof('NO', 'ONE');
  },

  'sentinel-kill': killUnderSentinel,
  'sentinel-freeze': freezeUnderSentinel,
  'sentinel-switch': switchUnderSentinel,
  'cluster-kill': killInCluster,
  'cluster-switch': switchInCluster,
  'slot-move': moveSlot,
};

/** One line, or all of them. */
function victims({ slots }: Fleet, planned: PlannedFault): readonly Slot[] {
  return planned.strength < 0.5 ? slots : [victim(slots, planned)];
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
