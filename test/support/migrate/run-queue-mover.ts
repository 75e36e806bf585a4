// Runs movers of a queue of ours in processes of their own.
import { DEATHS } from './deaths.js';
import type { QueueMoverSettings } from './queue-mover-process.js';
import { runMoverProcess } from './run-mover-process.js';

/** Runs a mover to its end. Returns whether it killed itself; false if nothing was left. */
export function runQueueMover(settings: QueueMoverSettings): Promise<boolean> {
  return runMoverProcess('migrate/queue-mover-process.ts', settings);
}

/** Kills movers one after another, each after the next step, and runs one more to its end. */
export async function killQueueMovers(
  settings: QueueMoverSettings,
  count: number,
  more: () => Promise<unknown>,
): Promise<number> {
  let deaths = 0;
  while (deaths < count) {
    const dies = { after: DEATHS[deaths % DEATHS.length]!, passes: Math.floor(deaths / DEATHS.length) % 2 };
    if (await runQueueMover({ ...settings, dies })) deaths++;
    else await more();
  }
  await runQueueMover({ ...settings, quietMs: 2_000 });
  return deaths;
}
