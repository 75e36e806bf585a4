/** The time until work continues after a fault, in ms. Three test files share two cores, and most start several servers. */
export const BACK_MS = 4_000;
