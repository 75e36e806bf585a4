// Faults of processes. Each waits for the state in which it is to hit the process.
import { sleep } from '../../../test/support/faults/wait.js';
import { atWork, claimsHeld, expired, freezeAtWork, type Claim } from './claims.js';
import type { Fault, Scene } from './scene.js';
import type { Slot } from '../run/fleet.js';
import { growth, inTime } from './hits.js';
import { strength, victim, type PlannedFault } from '../plan.js';
import { Random } from '../random.js';
import { countWritten, unanswered } from '../processes/written.js';

const HOUR_MS = 3_600_000;
const VISIBILITY_MS = 3_000;
const LOOK_MS = 50;

/** Stops of a process come at moments that it cannot predict. */
const LONGEST_STEP_MS = 20;

export const killWorker: Fault = (scene, planned) => killAtWork(scene, victim(scene.fleet.workers, planned));

/** Returns how many claims it left behind. */
export async function killAtWork(scene: Scene, slot: Slot): Promise<number> {
  const { fleet } = scene;
  const left = await freezeAtWork(scene, slot);
  await fleet.kill(slot);
  await fleet.start(slot);
  return left.length;
}

export const freezeWorker: Fault = async (scene, planned) => {
  const slot = victim(scene.fleet.workers, planned);
  const held = await freezeAtWork(scene, slot);
  await sleep(pastClaims(planned));
  const hits = await inTime(() => expired(scene, held));
  slot.child!.kill('SIGCONT');
  return hits ?? 0;
};

/** Blocks the event loop in the handler of the next job, so that at least one claim expires. */
export const blockWorker: Fault = async (scene, planned) => {
  const slot = victim(scene.fleet.workers, planned);
  const { blocks } = slot;
  const held = new Map<string, Claim>();
  let hits = 0;
  scene.fleet.order(slot, { type: 'block', ms: pastClaims(planned) });
  await inTime(async () => {
    for (const claim of await claimsHeld(scene, slot.child!.pid)) held.set(`${claim.key} ${claim.fence}`, claim);
    hits = Math.max(hits, await expired(scene, [...held.values()]));
    await sleep(LOOK_MS);
    return slot.blocks > blocks || undefined;
  });
  scene.fleet.order(slot, { type: 'block', ms: 0 }); // no job came, perhaps: none may be blocked later
  return hits;
};

export const killProducer: Fault = async ({ fleet }, planned) => {
  const slot = victim(fleet.producers, planned);
  const child = slot.child!;
  const random = new Random(planned.strength * 2 ** 32);
  // Repeats the stop until it came while the process waited for a reply.
  await inTime(async () => {
    child.kill('SIGSTOP');
    if (unanswered(slot.history) > 0) return true;
    child.kill('SIGCONT');
    await sleep(random.next() * LONGEST_STEP_MS);
    return undefined;
  });
  await fleet.kill(slot);
  const hits = unanswered(slot.history);
  await fleet.start(slot);
  return hits;
};

/** Restarts all workers one after the other. */
export const restartWorkers: Fault = async (scene) => {
  let hits = 0;
  for (const slot of scene.fleet.workers) {
    hits += (await atWork(scene, slot)).length;
    await scene.fleet.stop(slot);
    await scene.fleet.start(slot);
  }
  return hits;
};

export const setClockOff: Fault = async ({ fleet }, planned) => {
  const slot = victim(fleet.slots, planned);
  slot.clockOffMs = planned.strength < 0.5 ? HOUR_MS : -HOUR_MS;
  await fleet.stop(slot);
  await fleet.start(slot);
  return growth(0, () => countWritten(slot.history, 'start', 'enqueue', 'look', 'asks', 'call'));
};

/** Returns a time in which claims expire. */
function pastClaims(planned: PlannedFault): number {
  return strength(planned, VISIBILITY_MS + 500, VISIBILITY_MS + 2_500);
}
