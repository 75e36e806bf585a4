// The retries of most tests, which do not wait, and those of the library.
import type { QueueOptions } from '#queue/model/queue-options.js';

/** Lets a job fail three times at once, so that no test waits for the default backoff. */
export const RETRIES_AT_ONCE = { maxAttempts: 3, backoff: 0 } as const satisfies QueueOptions;

/** Takes {@link RETRIES_AT_ONCE} back: the defaults of the library apply. */
export const DEFAULT_RETRIES: QueueOptions = { maxAttempts: undefined, backoff: undefined };
