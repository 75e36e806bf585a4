/** The event that a store publishes when a job changes: the pattern's `id` and `status`, and further fields. */
export interface JobEvent {
  /** Empty for `drained`, which is of the queue. */
  id: string;
  /** A status of a job, or `enqueued`, `retry`, `released`, `reclaimed`, `lost`, `stuck`, `progress`, `drained`. */
  status: string;
  /** The name of the job. */
  name?: string;
  /** The attempt, from 1; absent if none has begun. */
  attempt?: number;
  /** The error's message, up to 1,000 bytes. */
  error?: string;
  /** Up to 2,000 bytes of JSON; absent if it is longer. */
  progress?: unknown;
  /** As `progress`, if the queue's `eventExtras` ask for it. */
  result?: unknown;
}
