// Runs a mover in a process of its own.
import type { MoveStep } from '#migrate/move-report.js';
import { runMoverProcess } from '../migrate/run-mover-process.js';
import type { MoverSettings } from './mover-process.js';

/** The steps of each slice of jobs. */
const STEPS: readonly MoveStep[] = ['take', 'import', 'give-back', 'acknowledge', 'forget'];

/**
 * Runs movers one after another. Each of the first ones is killed after a step, the first or the second time. One more runs
 * to its end. Returns the number of deaths after each step.
 *
 * @param more adds jobs to the old queue, because a mover found too few of them to die
 */
export async function killMovers(
  settings: Omit<MoverSettings, 'dies'>,
  count: number,
  more: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const deaths: Record<string, number> = {};
  for (let died = 0; died < count;) {
    const after = STEPS[died % STEPS.length]!;
    const passes = Math.floor(died / STEPS.length) % 2;
    if (await runMover({ ...settings, dies: { after, passes } })) {
      died++;
      deaths[after] = (deaths[after] ?? 0) + 1;
    } else {
      await more();
    }
  }
  await runMover(settings);
  return deaths;
}

/** Runs a mover to its end. Returns whether it killed itself; false if the old queue was quiet before. */
function runMover(settings: MoverSettings): Promise<boolean> {
  return runMoverProcess('bullmq/mover-process.ts', settings);
}
