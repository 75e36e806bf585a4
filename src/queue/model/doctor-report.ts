/**
 * What can be wrong with a queue.
 *
 * - `orphan`: a job that is in no place, so nobody will ever claim it
 * - `ghost`: an id in a place, without its job
 * - `double`: a job in two places
 * - `status`: a job whose status is not that of its place
 * - `token`: a claimed job without a claim token, or one that waits with one
 * - `claim`: a claim that never expires
 * - `lifetime`: a job that would expire while it is needed, or never although it has ended
 * - `unique`: a unique key that no job will free
 * - `counter`: a counter that is no number, or lower than what can be seen; with `exclusive` counters that contradict each other
 * - `batch`: the memory of a claim, or what is left of a batch, without an expiry; a batch that no sweep looks at, that nothing follows, or that does not end
 * - `after`: a job that waits for others, and no sweep looks whether they have ended
 * - `slot`: a claimed job that holds no slot of its group
 * - `group`: a group with slots that no claim holds, in a wrong place, or held by a job that is gone
 */
export type DoctorKind =
  | 'orphan'
  | 'ghost'
  | 'double'
  | 'status'
  | 'token'
  | 'claim'
  | 'lifetime'
  | 'unique'
  | 'counter'
  | 'batch'
  | 'after'
  | 'slot'
  | 'group';

/** How a queue is audited. */
export interface DoctorOptions {
  /** Brings to rights what is found. @default false: nothing is changed */
  mend?: boolean;
  /**
   * That only this library uses the queue, and always has: no client of the Redis pattern, which enqueues and ends jobs
   * without counting them. Then the counters are held against each other, and one that is too high is found too.
   * @default false
   */
  exclusive?: boolean;
}

/** One fault, as it was at the moment it was decided. */
export interface DoctorFinding {
  /** What kind of fault it is. */
  kind: DoctorKind;
  /** The job's id; else the unique key, the group, the batch, the counter or the key in Redis. */
  subject: string;
  /** What is there. */
  found: string;
  /** What should be there. */
  expected: string;
  /** True if it was mended. */
  mended: boolean;
}

/** What the doctor found in one queue. */
export interface DoctorReport {
  /** The name of the queue. */
  queue: string;
  /** How many jobs were looked at. */
  checked: number;
  /** How many faults there are of each kind; empty for a queue that is well. */
  counts: Partial<Record<DoctorKind, number>>;
  /** The first 1,000 faults. */
  findings: DoctorFinding[];
  /** How long the audit took, in ms. */
  durationMs: number;
}
