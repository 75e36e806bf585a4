// How long things are remembered, in ms.

/** The greatest age of an announcement of a live worker, in ms. */
export const WORKER_SEEN_MS = 30_000;

/** A visibility timeout that every sweep expects, in ms; see lua/lib/limits/largest.lua. */
export const USUAL_VISIBILITY_MS = 30_000;

/** The time a silent worker is remembered, in ms. */
export const WORKER_FORGOTTEN_MS = 10 * WORKER_SEEN_MS;

/** The time the history is kept, in ms. */
export const HISTORY_KEPT_MS = 72 * 3_600_000;

/** The time a declaration of a schedule lasts, in ms. Processes repeat it every 10 s. */
export const DECLARED_MS = 30_000;

/** The time an undeclared schedule is kept before it is removed, in ms. */
export const UNDECLARED_AGE_MS = 86_400_000;

/** The time the record of told alerts is kept after the last look, in ms; see lua/alert/take-turn.lua. */
export const ALERTS_KEPT_MS = 7 * 86_400_000;

/** The time for which a queue keeps its marks of kinds of error after the last one, in ms. And the most of them. */
export const MARKS_KEPT_MS = 180 * 86_400_000;
export const MOST_MARKS = 200;

/**
 * The shortest time the record of a run of a schedule is kept, in ms. Workers note its end at a look every five seconds. See
 * lua/lib/settle/lifetime.lua.
 */
export const RUN_KEPT_MS = 15_000;

/** The time the record of an ended batch is kept, in ms. */
export const BATCH_RECORD_MS = 7 * 86_400_000;

/**
 * The time a hash lives after its id left the history, in ms. A caller can still read a result that was just announced.
 */
export const EVICTED_TTL_MS = 10_000;
