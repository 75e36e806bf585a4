/** The longest duration of an option or a call, in ms. */
export const YEAR_MS = 365 * 86_400_000;

/** The longest time that a timer of Node can wait, in ms; it would take a longer one for 1 ms. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The most jobs that one call of a method hands out. */
export const LARGEST_PAGE = 1_000;
