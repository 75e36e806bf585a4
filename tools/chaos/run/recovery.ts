// How long the processes of a run took to recover from its faults.

/** The hits of a fault, and the time after its end until all processes got a reply; `Infinity` for never. */
export interface Recovery {
  hits: number;
  workersMs: number;
  producersMs: number;
}

/**
 * The hits of all faults of a kind. The longest times after a fault of that kind, in ms. A fault's time lasts until the
 * next one begins.
 */
export interface KindRecovery extends Recovery {
  kind: string;
  count: number;
  /** No job was completed by anybody. */
  stallMs: number;
  /** The longest time for which a producer tried to have a job acknowledged, refusals and repeats included. */
  unacknowledgedMs: number;
}
