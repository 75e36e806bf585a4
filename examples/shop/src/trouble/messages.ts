/** The trouble set on the control page, which precedes the work of the four kinds of jobs. */
export interface Conditions {
  latencyMs: number;
  /** From 0 to 1: how many of the attempts fail. */
  failRate: number;
  /** From 0 to 1: how many of the attempts freeze their process. */
  hangRate: number;
}

/** A message from the control page to a worker process. */
export interface ToWorker {
  type: 'conditions';
  conditions: Conditions;
}

/** A message from a worker process to the control page. */
export type FromWorker =
  | { type: 'began'; id: string; name: string; label: string; attempt: number }
  | { type: 'hangs'; id: string; name: string }
  /** `released`: interrupted by a stop, and released. */
  | { type: 'ended'; id: string; outcome: 'completed' | 'failed' | 'released' };
