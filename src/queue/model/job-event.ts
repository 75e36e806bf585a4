/** What a store publishes when a job changes: the pattern's `id` and `status`, and the job's name where it has one. */
export interface JobEvent {
  id: string;
  /** A status of a job, or `retry`, `released`, `reclaimed`, `lost`, `stuck`, `progress`. */
  status: string;
  name?: string;
}
