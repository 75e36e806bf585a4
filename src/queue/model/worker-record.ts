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
  /** The number of jobs of this queue that it runs at once. Under a limit of its process, of all queues. */
  slots: number;
  /** The number of jobs that its process runs at once over all queues, if limited. */
  processSlots?: number;
  /** A digest of its queues and handlers. Workers with the same one look for jobs in turn. Absent: it looks by itself. */
  fleet?: string;
  /** True if its process claims none of this queue's jobs for now. Absent: it claims. */
  paused?: true;
  /** Jobs whose handlers continue although their signals were aborted. */
  stuck?: { id: string; name: string }[];
}

/** A live worker of a queue. */
export interface WorkerRecord extends Partial<WorkerDetails> {
  /** The id of the worker. */
  id: string;
  /** The time of its last announcement. */
  seenAt: Date;
  /** The time of its start. */
  startedAt?: Date;
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
