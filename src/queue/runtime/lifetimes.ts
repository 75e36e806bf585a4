// How long things are remembered, in ms.

/** The greatest age of an announcement of a live worker, in ms. */
export const WORKER_SEEN_MS = 30_000;

/** A visibility timeout that every sweep expects, in ms; see lua/lib/core/longest_visibility.lua. */
export const USUAL_VISIBILITY_MS = 30_000;

/** The time a silent worker is remembered, in ms. */
export const WORKER_FORGOTTEN_MS = 10 * WORKER_SEEN_MS;

/** The time the details of workers are kept after the last were stored, in ms; see lua/worker/describe.lua. */
export const WORKER_DETAILS_MS = 600_000;

/** The time the history is kept, in ms. */
export const HISTORY_KEPT_MS = 72 * 3_600_000;

/** The time a name is remembered after its last announcement, in ms; see lua/sweep/tidy.lua. */
export const NAME_FORGOTTEN_MS = 2 * 86_400_000;

/** The greatest age of the announcement of a failure handler, in ms; see lua/lib/settle/report_failure.lua. */
export const FAILURE_HANDLER_SEEN_MS = 86_400_000;

/** The time a declaration of a schedule lasts, in ms. Processes repeat it every 10 s. */
export const DECLARED_MS = 30_000;

/** The time an undeclared schedule is kept before it is removed, in ms. */
export const UNDECLARED_AGE_MS = 86_400_000;

/** The time the record of told alerts is kept after the last look, in ms; see lua/alert/take-turn.lua. */
export const ALERTS_KEPT_MS = 7 * 86_400_000;

/** The time the record of an ended batch is kept, in ms. */
export const BATCH_RECORD_MS = 7 * 86_400_000;

/**
 * The time a hash lives after its id left the history, in ms. A caller can still read a result that was just announced.
 */
export const EVICTED_TTL_MS = 10_000;
