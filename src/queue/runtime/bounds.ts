/** The longest duration of an option or a call, in ms. */
export const YEAR_MS = 365 * 86_400_000;

/** The longest wait of a Node timer, in ms. A longer one would fire after 1 ms. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The most jobs that one call of a method hands out. */
export const LARGEST_PAGE = 1_000;

/** The most keys and arguments of one call. Some servers that speak Redis accept less than 4,000. */
export const MOST_ARGUMENTS = 3_900;

/** The minimum of all time limits, in ms, so that a slow store does not lose its connections. */
export const SHORTEST_TRIP_MS = 1_000;

/** The time a reply to a worker may take, in ms, before its connection counts as dead and is replaced. */
export const LONGEST_TRIP_MS = 10_000;

/**
 * Returns the time limit of a repeated step, in ms: its reply must arrive before the next repeat.
 *
 * @param intervalMs the interval of the repeats
 */
export function limitOf(intervalMs: number): { timeoutMs: number } {
  return { timeoutMs: Math.min(LONGEST_TRIP_MS, Math.max(SHORTEST_TRIP_MS, intervalMs)) };
}

/** About how many entries of an action log are kept. */
export const ACTIONS_KEPT = 10_000;
