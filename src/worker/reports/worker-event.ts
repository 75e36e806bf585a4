import type { Job } from '../handlers/job.js';

/** What happened to a job in this worker process. */
export interface WorkerEvent {
  /**
   * `started`, then how the attempt ended. A job that no handler was given (expired, broken, cancelled before, of a name
   * that none knows) has no `started`: only `failed`, `cancelled` or `released`, with the reason as the error. A job whose
   * worker died has its `failed` or `cancelled` in the process whose sweep took it back, where that was its end. A job
   * that was cancelled while it waited has its `cancelled` in the Nest app that called `cancel`; without Nest see
   * `JobQueue.onCancelled`. `lost`: the claim was taken back while the job ran. `stuck`: the handler goes on although its
   * signal was aborted.
   */
  type: 'started' | 'completed' | 'retry' | 'failed' | 'cancelled' | 'released' | 'lost' | 'stuck';
  /** The job that it tells of. */
  job: Job;
  /** What the handler threw, or why none was called. */
  error?: unknown;
  /** What the handler returned. */
  result?: unknown;
}

/** Hears what happens to the jobs of a worker. */
export type WorkerEventListener = (event: WorkerEvent) => void;
