/** The longest duration of an option or a call, in ms. */
export const YEAR_MS = 365 * 86_400_000;

/** The longest time that a timer of Node can wait, in ms; it would take a longer one for 1 ms. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The most jobs that one call of a method hands out. */
export const LARGEST_PAGE = 1_000;

/** A store that is merely slow must not lose its connections: nothing is given less than this, in ms. */
export const SHORTEST_TRIP_MS = 1_000;

/** How long a reply to a worker may take, in ms, before its connection counts as dead and is replaced. */
export const LONGEST_TRIP_MS = 10_000;

/**
 * Returns how long a step may take that a worker repeats, in ms: its answer must be there before the next time.
 *
 * @param intervalMs how often it is repeated
 */
export function limitOf(intervalMs: number): { timeoutMs: number } {
  return { timeoutMs: Math.min(LONGEST_TRIP_MS, Math.max(SHORTEST_TRIP_MS, intervalMs)) };
}
