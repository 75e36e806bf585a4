// Movers that die after one of their steps.
import type { QueueMoveStep } from '#migrate/queue/transit.js';

class Killed extends Error {}

/** The steps of a mover of a queue after which it dies, in turn. */
export const DEATHS = ['take', 'put', 'give-back', 'acknowledge', 'forget'] as const;

/** Returns whether a step is a mover's last one. Each second mover dies only after the second step of a kind. */
export function lastStep(deaths: number): (step: QueueMoveStep) => boolean {
  let passes = deaths % 2;
  return (step) => step === DEATHS[deaths % DEATHS.length] && passes-- === 0;
}

/**
 * Runs a mover that dies after the first step of which `isLast` is true.
 *
 * @returns whether it died; false if it ended before such a step
 */
export async function runToDeath<Step>(
  open: (onStep: (step: Step) => void) => { run(): Promise<void> } | Promise<{ run(): Promise<void> }>,
  isLast: (step: Step) => boolean,
): Promise<boolean> {
  const mover = await open((step) => {
    if (isLast(step)) throw new Killed();
  });
  try {
    await mover.run();
    return false;
  } catch (error) {
    if (error instanceof Killed) return true;
    throw error;
  }
}
