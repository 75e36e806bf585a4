// Processes of the fleet are replaced by those of an earlier version of the library, and back.
import type { Redis } from 'ioredis';
import { earlierDigest } from '../../../test/support/queue/earlier-version.js';
import { eventually, sleep } from '../../../test/support/faults/wait.js';
import { freezeAtWork } from './claims.js';
import type { Fault, Scene } from './scene.js';
import type { Slot } from '../run/fleet.js';
import { growth } from './hits.js';
import { strength, victim } from '../plan.js';
import { countWritten } from '../processes/written.js';

/** The end of a hang: a worker of the earlier version claims as soon as it runs. */
const WORKED_MS = 60_000;

/**
 * Rolls a deploy back: the producers and two or more workers run the earlier version for a while. One of these workers
 * dies, so the other version must reclaim its jobs.
 */
export const deployEarlier: Fault = async (scene, planned) => {
  const workers = scene.fleet.workers.filter(knowsEarlier);
  const first = workers.indexOf(victim(workers, planned));
  const from = [...workers.slice(first), ...workers.slice(0, first)];
  const replaced = from.slice(0, strength(planned, 2, workers.length));
  await replace(scene, replaced, true);
  await sleep(strength(planned, 2_000, 4_000));
  const digest = await earlierDigest('attemptClaim');
  const claimed = async () => {
    const [known] = (await (scene.ground.admin as Redis).script('EXISTS', digest)) as number[];
    return known === 1;
  };
  await eventually(claimed, { timeoutMs: WORKED_MS, what: 'a claim by the script of the earlier version' });
  const begun = () => replaced.reduce((sum, { history }) => sum + countWritten(history, 'start'), 0);
  const hits = await growth(0, begun);
  await replace(scene, replaced, false);
  return hits;
};

/** Limits, groups, batches and shards run one version, because their checks know one version. */
function knowsEarlier({ role }: Slot): boolean {
  return !/^(flow|shared|spread)-/.test(role);
}

/** Replaces the processes one after the other, the producers last, so that the new workers always have work. */
async function replace(scene: Scene, workers: readonly Slot[], earlier: boolean): Promise<void> {
  const { fleet } = scene;
  const one = async (slot: Slot, end: Promise<void>) => {
    await end;
    slot.earlier = earlier;
    await fleet.start(slot);
  };
  const [dying, ...others] = workers;
  const death = freezeAtWork(scene, dying!).then(() => fleet.kill(dying!));
  await Promise.all([one(dying!, death), ...others.map((slot) => one(slot, fleet.stop(slot)))]);
  for (const slot of fleet.producers.filter(knowsEarlier)) await one(slot, fleet.stop(slot));
}
