import type { Attempt } from './attempt.js';
import type { Lane } from './lane.js';
import type { WorkerEvent } from './worker-event.js';

/** What a lane tells the worker. */
export interface LaneObserver {
  /** There is something to send or to fetch. */
  changed(): void;
  /** Absent while nobody listens, so that no event is made for nothing. */
  emit: ((event: WorkerEvent) => void) | undefined;
  /** A job begins that waited for the end of another: what has ended is sent before, as the job may crash the process. */
  settle(): void;
  /** A job on its last chance, whose claim was asked for at `askedAtMs`, is to begin when nothing else runs here. */
  hold(lane: Lane, attempt: Attempt, askedAtMs: number): void;
  /** Those of a lane that is closed go back. */
  giveBackHeld(lane: Lane): void;
  readonly warn: (message: string) => void;
}
