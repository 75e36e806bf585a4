/** What a store publishes when a job changes: the pattern's `id` and `status`, and what is known beside them. */
export interface JobEvent {
  /** Empty for `drained`, which is of the queue. */
  id: string;
  /** A status of a job, or `enqueued`, `retry`, `released`, `reclaimed`, `lost`, `stuck`, `progress`, `drained`. */
  status: string;
  /** The name of the job. */
  name?: string;
  /** From 1; absent where none was begun. */
  attempt?: number;
  /** The error's message, up to 1,000 bytes. */
  error?: string;
  /** Up to 2,000 bytes of JSON; absent where it is longer. */
  progress?: unknown;
  /** As `progress`, where the queue's `eventExtras` asks for it. */
  result?: unknown;
}
