import type { ReportedError } from './messages.js';

/** The events of a worker process; `name` is that of its place, such as `worker-2`, `pid` that of the process. */
export type WorkerProcessEvent =
  /**
   * `started`: was forked, and boots. `running`: its worker claims jobs. `disconnected`: its worker has lost the connection
   * to Redis; `running` again when it is back.
   */
  | { type: 'started' | 'running' | 'disconnected'; name: string; pid: number | undefined }
  | WorkerProcessEnded
  /** The app in it called `process.send(message)`. */
  | { type: 'message'; name: string; pid: number | undefined; message: unknown };

/** A worker process has ended. */
export interface WorkerProcessEnded {
  /** The kind of the event. */
  type: 'ended';
  /** The name of the process, such as `worker-1`. */
  name: string;
  /** Its process id; undefined if it never started. */
  pid: number | undefined;
  /** The exit code; null where a signal ended it. */
  code: number | null;
  /** The signal that ended it; null for none. */
  signal: NodeJS.Signals | null;
  /** True if it was asked to stop. */
  stopped: boolean;
  /** The reason why the supervisor killed it, if it did. */
  killedFor?: string;
  /** The error of its boot. */
  error?: ReportedError;
  /** The delay of its restart, in ms; undefined if it is not restarted. */
  restartInMs?: number;
}
