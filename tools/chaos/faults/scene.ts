// What a fault strikes: the fleet of a run, its servers and its queues.
import type { JobQueue } from '#queue/job-queue.js';
import type { HistoryWriter } from '../histories/history.js';
import type { PlannedFault } from '../plan.js';
import type { Fleet } from '../run/fleet.js';
import type { Ground } from '../run/ground.js';

export interface Scene {
  fleet: Fleet;
  ground: Ground;
  /** The main one, and all of them. */
  queue: JobQueue;
  queues: readonly JobQueue[];
  history: HistoryWriter;
}

/** Causes a fault, and resolves with the number of its hits. */
export type Fault = (scene: Scene, planned: PlannedFault) => Promise<number>;
