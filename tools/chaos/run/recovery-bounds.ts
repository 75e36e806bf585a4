// How soon all must be back after a fault: what docs/reliability.md states for its kind, and what a slow machine may need.
import type { Recovery } from './stalls.js';

/** Since the end of the fault. The kinds that are not named are not slower than a cut connection. */
const DOCUMENTED_MS: Record<string, number> = {
  // visibility timeout, sweep interval and a second, as a run sets them
  kill: 5_000,
  'half-open': 5_000,
};
const OTHERWISE_MS = 2_000;

/** A machine with seven times as much to do as it can was seen to need 4.8 s where 2 s are stated. */
const SLOW_MACHINE = 4;

/** Longer than this the run does not wait. */
const MOST_MS = 10_000;

export function documentedMs(kind: string): number {
  return DOCUMENTED_MS[kind] ?? OTHERWISE_MS;
}

/** What is a violation beyond it. */
export function allowedMs(kind: string): number {
  return Math.min(MOST_MS, documentedMs(kind) * SLOW_MACHINE);
}

/** Who came back too late; who never did is told of by the run. */
export function overdue(recoveries: readonly Recovery[]): string[] {
  return recoveries.flatMap(({ kind, workersMs, producersMs }) =>
    Object.entries({ workers: workersMs, producers: producersMs })
      .filter(([, ms]) => Number.isFinite(ms) && ms > allowedMs(kind))
      .map(([who, ms]) => {
        const most = `${documentedMs(kind)} ms, and ${allowedMs(kind)} ms on a slow machine`;
        return `${kind}: all ${who} were back after ${ms} ms, expected at most ${most}`;
      }),
  );
}
