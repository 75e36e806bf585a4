// Runs a mover for a command: until it ends, or the user interrupts it.
import type { CommandOptions, Context } from '../context.js';
import { Interruption } from '../live/interruption.js';
import { wholeNumber } from '../numbers.js';

/** How long the old place must be quiet, in ms, unless `--quiet` says otherwise. */
export const QUIET_MS = 60_000;

interface RunningMover {
  readonly movedCount: number;
  run(): Promise<void>;
  follow(quietMs: number): Promise<void>;
  stop(): void;
}

/** Returns how long the old place must be quiet, in ms. Undefined without `--follow`: then the mover goes once. */
export function followOf(options: CommandOptions): number | undefined {
  const quietMs = wholeNumber('quiet', options['quiet']) ?? QUIET_MS;
  return options['follow'] === true ? quietMs : undefined;
}

/**
 * Shows the progress of a mover.
 *
 * @param quietMs as `followOf` read it
 * @param total the number of jobs to move, if the mover does not follow
 */
export async function runMover(
  { session, progress }: Context,
  mover: RunningMover,
  { quietMs, total }: { quietMs: number | undefined; total?: number | undefined },
): Promise<void> {
  const interruption = new Interruption(session);
  void interruption.over.then(() => mover.stop(), () => mover.stop()); // prettier-ignore
  const follows = quietMs !== undefined;
  const work = follows ? mover.follow(quietMs) : mover.run();
  try {
    await progress.during(work, 'moved', follows ? undefined : total, () => mover.movedCount);
  } finally {
    interruption.close();
  }
}
