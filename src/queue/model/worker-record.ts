import { ANY_NAME } from '../validation/names.js';
import { slotsTaken } from './slots.js';

/** The details that a worker announces. */
export interface WorkerDetails {
  /** The name of its machine. */
  host: string;
  /** The id of its process. */
  pid: number;
  /** The name of the app; absent if it has none. */
  app?: string;
  /** The version of the app; absent if it has none. */
  version?: string;
  /** The number of its slots for this queue. Each running job takes one, or those of `weights`. */
  slots: number;
  /**
   * The slots of a job of each name, if some take several; `*` is for other names. With `most`, an enqueue may ask for up to that many.
   * Absent: each takes one.
   */
  weights?: { name: string; slots: number; most?: number }[];
  /** The number of slots of its process for all queues, if limited. */
  processSlots?: number;
  /** A digest of its queues and handlers. Workers with the same one look for jobs in turn. Absent: it looks by itself. */
  fleet?: string;
  /** The limits that the queue shares with others. Absent for none. */
  limits?: string[];
  /** What each job costs of these limits, where that is more than one. Absent for none. */
  limitCosts?: Record<string, number>;
  /** True if none of its attempts may be profiled. Absent: they may. */
  unprofiled?: true;
  /** True if its process claims none of this queue's jobs for now. Absent: it claims. */
  paused?: true;
  /** Jobs whose handlers continue although their signals were aborted, with the slots that their enqueues asked for. */
  stuck?: { id: string; name: string; slots?: number }[];
}

/** A worker of a queue. */
export interface WorkerRecord extends Partial<WorkerDetails> {
  /** The id of the worker. */
  id: string;
  /** The time of its last announcement. */
  seenAt: Date;
  /** The time of its start. */
  startedAt?: Date;
  /** The number of jobs that it still holds. Absent for a live worker. */
  holds?: number;
}

/** Returns the slots that a job takes in a worker. */
export function slotsOfJob(
  { weights = [] }: Pick<WorkerDetails, 'weights'>,
  { name, slots: asked }: { name: string; slots?: number },
): number {
  const weight = weights.find((each) => each.name === name) ?? weights.find((each) => each.name === ANY_NAME);
  const { slots = 1, most } = weight ?? {};
  return slotsTaken(most === undefined ? slots : { default: slots, most }, asked);
}

/** A job whose handler has no timeout and runs for long. */
export type LongRun = Omit<StuckJob, 'forMs' | 'reason'> & {
  /** The time since its start, in ms. */
  forMs: number;
};

/** A job whose handler continues although its signal was aborted. It keeps its slot until it ends. */
export interface StuckJob {
  /** The queue of the job. */
  queue: string;
  /** The id of the job. */
  id: string;
  /** The name of the job. */
  name: string;
  /** The number of the attempt, from 1. */
  attempt: number;
  /** The time since its signal aborted, in ms. */
  forMs: number;
  /** The message of the signal's reason. */
  reason: string;
}
