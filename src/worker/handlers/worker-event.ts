import type { Job } from './job.js';

/** An event of a job in this worker process: `WorkerEvent<EmailPayload>` where a listener knows the payload. */
export interface WorkerEvent<Payload = unknown> {
  /**
   * `started`, then the end of the attempt. `lost`: the claim was reclaimed while the job ran. `stuck`: the handler
   * continues although its signal was aborted. A job that no handler got has only `failed`, `cancelled` or `released`.
   * It was expired, broken, cancelled before, or of an unknown name. Its error is the reason. The last crash of a job
   * is an event of the process whose sweep found it. The cancel of a waiting job is an event of the Nest app that
   * called `cancel`; without Nest see `JobQueue.onCancelled`.
   */
  type: 'started' | 'completed' | 'retry' | 'failed' | 'cancelled' | 'released' | 'lost' | 'stuck';
  /** The job of the event. */
  job: Job<Payload>;
  /** The error of the handler, or the reason why none was called. */
  error?: unknown;
  /** The return value of the handler. */
  result?: unknown;
}

/** Receives the events of a worker's jobs. */
export type WorkerEventListener = (event: WorkerEvent) => void;
