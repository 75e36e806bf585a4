/**
 * The kinds of damage of a queue.
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

/** The options of an audit. */
export interface DoctorOptions {
  /** Repairs the damage. @default false: nothing is changed */
  mend?: boolean;
  /**
   * True if only this library has ever used the queue, and no client of the Redis pattern, which does not count its jobs.
   * Then the doctor compares the counters with each other and finds one that is too high.
   * @default false
   */
  exclusive?: boolean;
}

/** One finding, at the moment of its check. */
export interface DoctorFinding {
  /** The kind of damage. */
  kind: DoctorKind;
  /** The job's id; else the unique key, the group, the batch, the counter or the key in Redis. */
  subject: string;
  /** The value that was found. */
  found: string;
  /** The expected value. */
  expected: string;
  /** True if it was mended. */
  mended: boolean;
}

/** The findings of the doctor in one queue. */
export interface DoctorReport {
  /** The name of the queue. */
  queue: string;
  /** The number of checked jobs. */
  checked: number;
  /** The number of findings of each kind; empty for a sound queue. */
  counts: Partial<Record<DoctorKind, number>>;
  /** The first 1,000 faults. */
  findings: DoctorFinding[];
  /** The duration of the audit, in ms. */
  durationMs: number;
}
