// Processes of the fleet are replaced: by new ones, or by those of an earlier version and back.
import type { Redis } from 'ioredis';
import { earlierDigest } from '../support/earlier-version.js';
import { eventually } from '../support/wait.js';
import type { Scene } from './faults.js';
import type { Slot } from './fleet.js';
import { strength, victim, type PlannedFault } from './plan.js';

/** The end of a hang: a worker of the earlier version claims as soon as it runs. */
const WORKED_MS = 60_000;

/** A rolling restart of all workers. */
export async function restartWorkers({ fleet }: Scene): Promise<void> {
  for (const slot of fleet.workers) {
    await fleet.stop(slot);
    await fleet.start(slot);
  }
}

/**
 * A deploy that is taken back: the producers and from two workers to all of them are of the earlier version for a while. Of
 * the workers one dies each time: what it leaves is for the other version to take back.
 */
export async function deployEarlier(scene: Scene, planned: PlannedFault): Promise<void> {
  const { workers } = scene.fleet;
  const first = workers.indexOf(victim(workers, planned));
  const from = [...workers.slice(first), ...workers.slice(0, first)];
  const replaced = from.slice(0, strength(planned, 2, workers.length));
  await replace(scene, replaced, true);
  await sleep(strength(planned, 2_000, 4_000));
  const claimed = async () => {
    const [known] = (await (scene.ground.admin as Redis).script('EXISTS', earlierDigest('claim'))) as number[];
    return known === 1;
  };
  await eventually(claimed, { timeoutMs: WORKED_MS, what: 'a claim by the script of the earlier version' });
  await replace(scene, replaced, false);
}

/** The producers last, one after the other: so there always is work for somebody who is there. */
async function replace({ fleet }: Scene, workers: readonly Slot[], earlier: boolean): Promise<void> {
  const one = async (slot: Slot, end: Promise<void>) => {
    await end;
    slot.earlier = earlier;
    await fleet.start(slot);
  };
  const [dying, ...others] = workers;
  await Promise.all([one(dying!, fleet.kill(dying!)), ...others.map((slot) => one(slot, fleet.stop(slot)))]);
  for (const slot of fleet.producers) await one(slot, fleet.stop(slot));
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
