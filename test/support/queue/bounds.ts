/**
 * A bound, in CI twice as wide: three files of tests share two cores there, and most of these start several servers.
 * What it is to tell from must still be beyond it.
 */
export function atMost(ms: number): number {
  return process.env.CI ? 2 * ms : ms;
}

/** Within how many ms work goes on after a fault. */
export const BACK_MS = atMost(2_000);
