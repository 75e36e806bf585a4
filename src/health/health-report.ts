import type { QueueVerdict } from '../inspect/queue-signs.js';
import type { QueueStats } from '../queue/model/job.js';
import type { WorkerLifecycle } from '../nest/lifecycle/worker-lifecycle.js';

/**
 * What makes a check fail. Without thresholds only an unreachable Redis, one that `audit: 'error'` refuses once it is there, and a
 * worker that could not start do.
 */
export interface JobQueueHealthOptions {
  /** Which queues. @default all that this process knows */
  queues?: readonly string[];
  /** The name of a `forRoot({ name })`: its server, queues and worker are looked at. @default the `forRoot` without a name */
  connection?: string;
  /** The most jobs that may wait in a queue. */
  maxPending?: number;
  /** How long the oldest job of a queue may have been claimable, in ms: the figure that matters most. */
  maxOldestPendingAgeMs?: number;
  /** The most dead letters that a queue may have. */
  maxFailed?: number;
  /** The most claims of a queue that may be expired and not yet taken back. */
  maxExpiredClaims?: number;
  /**
   * How long ago Redis may have last answered a fetch of this process's worker, in ms. It does not count while all slots
   * are busy, or the worker is paused here. Holds only where this process runs one.
   */
  maxSinceLastFetchMs?: number;
  /** How long jobs may have waited for a worker that handles their name, where none lives, in ms. */
  maxUnservedMs?: number;
  /** After how long such a wait is among the `warnings`, in ms, which never make a check fail. @default 60,000 */
  unservedWarningMs?: number;
  /** True if each queue must have a worker, in this process or any other. @default false */
  requireWorker?: boolean;
  /** How bad the verdict on a queue may be before the check fails. @default no verdict makes it fail */
  failOn?: 'warning' | 'critical';
  /** How long Redis may take to answer, in ms. @default 1,000 */
  timeoutMs?: number;
}

/** What a check reports beside its status. */
export interface JobQueueHealthReport extends Record<string, unknown> {
  /** Why it is down, in words. */
  message?: string;
  /** What needs a look and makes no check fail: jobs that no live worker handles, a queue that no process maintains. */
  warnings?: string[];
  /** The state of the connection. */
  redis: { reachable: boolean; latencyMs?: number };
  /** This process's worker; absent in a producer. */
  worker?: WorkerHealth;
  /** The state of each queue, by name. */
  queues?: Record<string, QueueHealth>;
}

/** A queue as a check reports it. */
export type QueueHealth = Pick<
  QueueStats,
  | 'pending'
  | 'processing'
  | 'scheduled'
  | 'completed'
  | 'failed'
  | 'oldestPendingAgeMs'
  | 'expiredClaims'
  | 'workers'
> & {
  paused: boolean;
  /** The verdict: whether work flows, the likely cause if not, and the next step, as on the dashboard and the command line. */
  verdict: Omit<QueueVerdict, 'queue'>;
  /** Absent where there are none. */
  unserved?: QueueStats['unserved'];
  /** Absent where the queue is maintained. */
  maintenanceOverdue?: true;
};

/** A worker as a health check reports it. */
export interface WorkerHealth {
  /** How many jobs run in this process now. */
  running: number;
  /**
   * How long ago Redis last answered a fetch, in ms; 0 while all slots are busy or the worker is paused here; before the
   * first: how long ago the app started.
   */
  sinceLastFetchMs: number;
  /** The jobs whose handlers go on although their signals were aborted, each until it ends; absent where there are none. */
  stuck?: WorkerLifecycle['stuck'];
  /** Why it does not run. */
  error?: string;
}
