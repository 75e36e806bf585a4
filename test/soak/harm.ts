// What happens to a fleet at work, by the kind of the run, and how long its processes take to go on.
import { FAULTS, type Scene } from './faults.js';
import type { Fleet, Slot } from './fleet.js';
import { monotonicMs } from './history.js';
import { kindsOf, plan } from './plan.js';
import type { RunOptions } from './run.js';

/** The longest that a process may take after a fault until it has an answer of Redis again. */
const RECOVERY_MS = 10_000;

/** How long after the end of a fault all had an answer of Redis again; `Infinity` for never. */
export interface Back {
  workersMs: number;
  producersMs: number;
}

/** Fault after fault, each when all have recovered from the last. Answers how long that took. */
export async function harm(scene: Scene, { seed, minutes, topology, redisUrl, say }: RunOptions): Promise<Back[]> {
  const end = performance.now() + minutes * 60_000;
  const kinds = kindsOf(topology, redisUrl === undefined);
  const backs: Back[] = [];
  await sleep(2_000);
  for (const planned of plan(seed, kinds)) {
    scene.history.add(['fault', planned.kind]);
    await scene.history.written();
    await FAULTS[planned.kind](scene, planned);
    scene.history.add(['healed', planned.kind]);
    const back = await recovered(scene.fleet);
    backs.push(back);
    say(
      `${planned.kind}: all workers are back after ${back.workersMs} ms, all producers after ${back.producersMs} ms`,
    );
    await sleep(planned.restMs);
    if (performance.now() > end && backs.length >= kinds.length) break;
  }
  return backs;
}

/** The server loses its data in the middle of the work; what is enqueued afterwards must fare as ever. */
export async function forget({ fleet, ground: { server }, history }: Scene): Promise<Back[]> {
  await sleep(6_000);
  const others = fleet.slots.filter(({ role }) => !role.endsWith('worker'));
  for (const slot of others) await fleet.kill(slot);
  history.add(['fault', 'redis-kill without persistence']);
  history.add(['forgotten', [...fleet.producerNumbers]]);
  await server!.kill('SIGKILL');
  await server!.restart();
  history.add(['healed', 'redis-kill without persistence']);
  const workersMs = await backAfter(monotonicMs(), fleet.workers);
  for (const slot of others) await fleet.start(slot);
  const producersMs = await backAfter(monotonicMs(), fleet.producers);
  await sleep(5_000);
  return [{ workersMs, producersMs }];
}

/** Under load a worker is killed now and then. */
export async function untilAllAreEnqueued({ fleet, history }: Scene): Promise<Back[]> {
  const backs: Back[] = [];
  for (let round = 0; fleet.producers.some(({ done }) => !done); round++) {
    await sleep(1_000);
    if (round % 60 !== 30) continue;
    const slot = fleet.workers[Math.floor(round / 60) % fleet.workers.length]!;
    history.add(['fault', 'kill']);
    await fleet.kill(slot);
    await fleet.start(slot);
    history.add(['healed', 'kill']);
    backs.push(await recovered(fleet));
  }
  return backs;
}

/** Those that did not come back in time, in words. */
export function wedged(backs: readonly Back[]): string[] {
  return backs.flatMap(({ workersMs, producersMs }, i) => [
    ...(workersMs === Infinity
      ? [`fault ${i + 1}: a worker had no answer of Redis for ${RECOVERY_MS} ms after it`]
      : []),
    ...(producersMs === Infinity ? [`fault ${i + 1}: a producer had none`] : []),
  ]);
}

async function recovered({ workers, producers }: Fleet): Promise<Back> {
  const healedMs = monotonicMs();
  const [workersMs, producersMs] = await Promise.all([
    backAfter(healedMs, workers),
    backAfter(healedMs, producers),
  ]);
  return { workersMs, producersMs };
}

async function backAfter(healedMs: number, slots: readonly Slot[]): Promise<number> {
  for (;;) {
    const answers = slots
      .filter(({ done }) => !done)
      .map(({ answeredAtMs }) => Math.round(answeredAtMs - healedMs));
    if (answers.every((afterMs) => afterMs > 0)) return Math.max(0, ...answers);
    if (monotonicMs() - healedMs > RECOVERY_MS) return Infinity;
    await sleep(20);
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
