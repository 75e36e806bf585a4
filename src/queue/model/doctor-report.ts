/**
 * The kinds of damage of a queue.
 *
 * - `orphan`: a job in no place, so no worker will ever claim it
 * - `ghost`: an id in a place, without its job
 * - `oversized`: a job whose id, name, group or options are longer than any, or that has too many fields. A repair makes it a
 *   dead letter, under a short id if its own is too long
 * - `double`: a job in two places
 * - `status`: a job whose status differs from its place
 * - `token`: a claimed job without a claim token, or a waiting one with one
 * - `claim`: a claim that never expires
 * - `lifetime`: a job that would expire while it is needed, or an ended job that never expires
 * - `unique`: a unique key that no job will free
 * - `counter`: a counter that is not a number or below the visible count; with `exclusive`, contradictory counters
 * - `batch`: a batch that no sweep finds, that nothing follows, or that does not end. Also a leftover of a batch, or
 *   the memory of a claim, without an expiry
 * - `after`: a job that waits for others, while no sweep checks whether they have ended
 * - `slot`: a claimed job that holds no slot of its group
 * - `group`: a group with slots that no claim holds, in a wrong place, or held by a missing job
 * - `clock`: an instant that the server's clock of now cannot have made; see `docs/internals/clocks.md`
 * - `subscription`: a subscription of a topic that no live worker handles. It is never repaired: remove it if its code is gone
 * - `type`: a key of a wrong type, which is never repaired. The audit ends there, because its steps read such keys
 */
export type DoctorKind =
  | 'orphan'
  | 'ghost'
  | 'oversized'
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
  | 'group'
  | 'clock'
  | 'subscription'
  | 'type';

/** The options of an audit. */
export interface DoctorOptions {
  /** Repairs the damage. @default false: nothing is changed */
  repair?: boolean | undefined;
  /**
   * True if only this library has ever used the queue. Clients of the Redis pattern do not count their jobs. Then the
   * doctor compares the counters with each other and finds excessive ones.
   * @default false
   */
  exclusive?: boolean | undefined;
}

/** A finding at the time of its check. */
export interface DoctorFinding {
  /** The kind of damage. */
  kind: DoctorKind;
  /**
   * The job's id; else the unique key, the group, the batch, the counter, the subscription, or the key in Redis. For `clock` the key with
   * its field or member.
   */
  subject: string;
  /** The found value. */
  found: string;
  /** The expected value. */
  expected: string;
  /** True if it was repaired. */
  repaired: boolean;
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
