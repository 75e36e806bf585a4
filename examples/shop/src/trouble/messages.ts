/** How the work goes: set on the control page, met by every job of the four kinds before its work. */
export interface Conditions {
  latencyMs: number;
  /** From 0 to 1: how many of the attempts fail. */
  failRate: number;
  /** From 0 to 1: how many of the attempts freeze their process. */
  hangRate: number;
}

/** What the control page tells a worker process. */
export interface ToWorker {
  type: 'conditions';
  conditions: Conditions;
}

/** What a worker process tells the control page. */
export type FromWorker =
  | { type: 'began'; id: string; name: string; label: string; attempt: number }
  | { type: 'hangs'; id: string; name: string }
  /** `released`: cut off by a stop, and given back. */
  | { type: 'ended'; id: string; outcome: 'completed' | 'failed' | 'released' };
