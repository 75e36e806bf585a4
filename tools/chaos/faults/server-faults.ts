// Faults of the one server. Each lasts until a client has felt it.
import type { Redis } from 'ioredis';
import { sleep } from '../../../test/support/faults/wait.js';
import { inFlight } from './claims.js';
import type { Fault } from './scene.js';
import { growth } from './hits.js';
import { strength } from '../plan.js';

const LONGEST_FREEZE_MS = 5_000;

export const flushScripts: Fault = async ({ ground }) => {
  const admin = ground.admin as Redis;
  const before = await refusals(admin, 'NOSCRIPT');
  await admin.script('FLUSH');
  return growth(before, () => refusals(admin, 'NOSCRIPT'));
};

export const killServer: Fault = async (scene, planned) => {
  const { server } = scene.ground;
  const hits = await inFlight(scene);
  await server!.kill('SIGKILL');
  await sleep(strength(planned, 0, 3_000));
  await server!.restart();
  return hits;
};

export const freezeServer: Fault = async ({ ground: { server }, fleet }, planned) => {
  await server!.kill('SIGSTOP');
  let waiting = 0;
  // Requests that an idle worker sent before the fault do not count as waiting for it.
  for (const { proxies } of fleet.slots) void proxies[0]?.asked().then(() => waiting++);
  await sleep(strength(planned, 1_000, LONGEST_FREEZE_MS));
  const hits = await growth(0, () => waiting);
  await server!.kill('SIGCONT');
  return hits;
};

export const fillMemory: Fault = async ({ ground }, planned) => {
  const admin = ground.admin as Redis;
  const before = await refusals(admin, 'OOM');
  await admin.config('SET', 'maxmemory-policy', 'noeviction');
  await admin.config('SET', 'maxmemory', '1mb');
  await sleep(strength(planned, 1_000, 3_000));
  const hits = await growth(before, () => refusals(admin, 'OOM'));
  await admin.config('SET', 'maxmemory', '0');
  return hits;
};

/** Makes the server a replica of a missing master: it keeps its data and refuses writes. */
export const makeReplica: Fault = async ({ ground }, planned) => {
  const admin = ground.admin as Redis;
  const before = await refusals(admin, 'READONLY');
  await admin.replicaof('127.0.0.1', '1');
  await sleep(strength(planned, 500, 3_000));
  const hits = await growth(before, () => refusals(admin, 'READONLY'));
  await admin.replicaof('NO', 'ONE');
  return hits;
};

/** Returns how many calls this server has refused for that reason. */
async function refusals(admin: Redis, reason: string): Promise<number> {
  const errors = await admin.info('errorstats');
  return Number(new RegExp(`errorstat_${reason}:count=(\\d+)`).exec(errors)?.[1] ?? 0);
}
