// The faults of a run by its kind, and the time its processes take to recover.
import { sleep } from '../../../test/support/faults/wait.js';
import { FAULTS } from '../faults/faults.js';
import type { Scene } from '../faults/scene.js';
import type { Fleet, Slot } from './fleet.js';
import { monotonicMs } from '../histories/clock.js';
import { hitsOf } from '../faults/hits.js';
import { kindsOf, plan, type PlannedFault } from '../plan.js';
import { killAtWork } from '../faults/process-faults.js';
import { Random } from '../random.js';
import type { Recovery } from './recovery.js';
import type { RunOptions } from './run-options.js';
import { countWritten } from '../processes/written.js';

/** The longest allowed time from a fault to a process's next reply of Redis. */
const RECOVERY_MS = 10_000;

/** A fault that hits nothing is done again, so often at most. */
const MOST_ROUNDS = 3;

/** Causes one fault after another, each when all have recovered from the last. Returns how long each recovery took. */
export async function injectFaults(scene: Scene, options: RunOptions): Promise<Recovery[]> {
  const { seed, minutes, topology, redisUrl, say } = options;
  const end = performance.now() + minutes * 60_000;
  const kinds = options.kinds ?? kindsOf(topology, redisUrl === undefined);
  const recoveries: Recovery[] = [];
  await sleep(2_000);
  for (const planned of plan(seed, kinds)) {
    scene.history.add(['fault', planned.kind]);
    await scene.history.written();
    const hits = await strike(scene, planned);
    scene.history.add(['healed', planned.kind]);
    const recovery = { hits, ...(await recovered(scene.fleet)) };
    recoveries.push(recovery);
    const after = `all workers are back after ${recovery.workersMs} ms, all producers after ${recovery.producersMs} ms`;
    say(`${planned.kind}: ${hitsOf({ kind: planned.kind, hits })}; ${after}`);
    await sleep(planned.restMs);
    if (performance.now() > end && recoveries.length >= kinds.length) break;
  }
  return recoveries;
}

async function strike(scene: Scene, planned: PlannedFault): Promise<number> {
  let hits = 0;
  for (let round = 0; hits === 0 && round < MOST_ROUNDS; round++) {
    hits = await FAULTS[planned.kind](scene, planned);
  }
  return hits;
}

/**
 * Lets the server lose its data in the middle of the work. Later enqueues must work as before. The seed draws when, how
 * long it is away, and how many workers die with it.
 */
export async function forget(scene: Scene, { seed }: Pick<RunOptions, 'seed'>): Promise<Recovery[]> {
  const { fleet, ground, history } = scene;
  const random = new Random(seed);
  await sleep(random.between(4_000, 8_000));
  const dying = random.shuffled(fleet.workers).slice(0, random.between(0, 2));
  const dead = [...fleet.slots.filter(({ role }) => !role.endsWith('worker')), ...dying];
  for (const slot of dead) await fleet.kill(slot);
  const hits = fleet.producers.reduce((sum, slot) => sum + countWritten(slot.history, 'enqueued'), 0);
  history.add(['fault', 'redis-kill without persistence']);
  history.add(['forgotten', [...fleet.producerNumbers]]);
  await ground.server!.kill('SIGKILL');
  await sleep(random.between(0, 2_000));
  await ground.server!.restart();
  history.add(['healed', 'redis-kill without persistence']);
  const survivors = fleet.workers.filter((slot) => !dying.includes(slot));
  const workersMs = await answeredAfter(monotonicMs(), survivors);
  for (const slot of dead) await fleet.start(slot);
  const producersMs = await answeredAfter(monotonicMs(), fleet.producers);
  await sleep(5_000);
  return [{ hits, workersMs, producersMs }];
}

/** Kills a worker now and then while the jobs are enqueued. */
export async function untilAllAreEnqueued(scene: Scene): Promise<Recovery[]> {
  const { fleet, history } = scene;
  const recoveries: Recovery[] = [];
  for (let round = 0; fleet.producers.some(({ done }) => !done); round++) {
    await sleep(1_000);
    if (round % 60 !== 30) continue;
    const slot = fleet.workers[Math.floor(round / 60) % fleet.workers.length]!;
    history.add(['fault', 'kill']);
    const hits = await killAtWork(scene, slot);
    history.add(['healed', 'kill']);
    recoveries.push({ hits, ...(await recovered(fleet)) });
  }
  return recoveries;
}

/** Describes the processes that did not recover in time. */
export function wedged(recoveries: readonly Recovery[]): string[] {
  return recoveries.flatMap(({ workersMs, producersMs }, i) => [
    ...(workersMs === Infinity
      ? [`fault ${i + 1}: a worker had no answer of Redis for ${RECOVERY_MS} ms after it`]
      : []),
    ...(producersMs === Infinity ? [`fault ${i + 1}: a producer had none`] : []),
  ]);
}

async function recovered({ workers, producers }: Fleet): Promise<Omit<Recovery, 'hits'>> {
  const healedMs = monotonicMs();
  const [workersMs, producersMs] = await Promise.all([
    answeredAfter(healedMs, workers),
    answeredAfter(healedMs, producers),
  ]);
  return { workersMs, producersMs };
}

async function answeredAfter(healedMs: number, slots: readonly Slot[]): Promise<number> {
  for (;;) {
    const answers = slots
      .filter(({ done }) => !done)
      .map(({ answeredAtMs }) => Math.round(answeredAtMs - healedMs));
    if (answers.every((afterMs) => afterMs > 0)) return Math.max(0, ...answers);
    if (monotonicMs() - healedMs > RECOVERY_MS) return Infinity;
    await sleep(20);
  }
}
