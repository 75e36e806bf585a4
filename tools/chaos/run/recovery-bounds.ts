// The time to recover from a fault: the figures of docs/reliability.md by kind, and an allowance for slow machines.
import type { KindRecovery } from './recovery.js';

/** Counted from the end of the fault. Kinds without an entry are as fast as a cut connection. */
const DOCUMENTED_MS: Record<string, number> = {
  // visibility timeout, sweep interval and a second, as a run sets them
  kill: 5_000,
  'half-open': 5_000,
};
const OTHERWISE_MS = 2_000;

/** A machine with seven times its capacity of work needed 4.8 s instead of the stated 2 s. */
const SLOW_MACHINE = 4;

/** The time after which the run stops waiting. */
const MOST_MS = 10_000;

export function documentedMs(kind: string): number {
  return DOCUMENTED_MS[kind] ?? OTHERWISE_MS;
}

/** Returns the time beyond which a recovery is a violation. */
export function allowedMs(kind: string): number {
  return Math.min(MOST_MS, documentedMs(kind) * SLOW_MACHINE);
}

/** Returns late recoveries. Processes that never recovered are reported by the run. */
export function overdue(recoveries: readonly KindRecovery[]): string[] {
  return recoveries.flatMap(({ kind, workersMs, producersMs }) =>
    Object.entries({ workers: workersMs, producers: producersMs })
      .filter(([, ms]) => Number.isFinite(ms) && ms > allowedMs(kind))
      .map(([who, ms]) => {
        const most = `${documentedMs(kind)} ms, and ${allowedMs(kind)} ms on a slow machine`;
        return `${kind}: all ${who} were back after ${ms} ms, expected at most ${most}`;
      }),
  );
}
