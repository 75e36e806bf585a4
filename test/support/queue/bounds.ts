/**
 * Returns a bound, doubled in CI, where three test files share two cores and most start several servers. The wrong
 * behaviour must still exceed it.
 */
export function atMost(ms: number): number {
  return process.env.CI ? 2 * ms : ms;
}

/** How soon work continues after a fault, in ms. */
export const BACK_MS = atMost(2_000);
