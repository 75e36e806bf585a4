// What health reports of queues, Redis and the outbox, and the thresholds from which it is down.
import type { QueueVerdict, Severity } from '../inspect/queue-signs.js';
import type { OutboxVerdict } from '../inspect/outbox-verdict.js';
import type { ServerVerdict } from '../inspect/server-verdict.js';
import { duration } from '../inspect/words.js';
import { counted, show } from '../queue/errors/show.js';
import type { QueueStats, UnservedName } from '../queue/model/job.js';
import type { StuckJob, LongRun } from '../queue/model/worker-record.js';

/**
 * The thresholds of a check. Without any, it fails only if Redis is unreachable, `audit: 'error'` refuses it, or a worker
 * could not start.
 */
export interface JobQueueHealthOptions {
  /** The queues to check. @default all that this process knows */
  queues?: readonly string[] | undefined;
  /** The name of a `forRoot({ name })`: its server, queues and worker are looked at. @default the `forRoot` without a name */
  connection?: string | undefined;
  /** The most jobs that may wait in a queue. */
  maxPending?: number | undefined;
  /** The time since the oldest job of a queue became claimable, in ms, at most. This is the most important figure. */
  maxOldestPendingAgeMs?: number | undefined;
  /** The most dead letters that a queue may have. */
  maxFailed?: number | undefined;
  /** The most claims of a queue that may be expired and not yet reclaimed. */
  maxExpiredClaims?: number | undefined;
  /**
   * The time since Redis last replied to a fetch of this process's worker, in ms, at most. It does not count while all
   * slots are busy, or the worker is paused here. A worker of many queues waits up to 15 s for the next job.
   * Such a wait counts from its end. Applies only if this process runs a worker.
   */
  maxSinceLastFetchMs?: number | undefined;
  /** The longest wait of jobs without a live worker for their name, in ms. */
  maxUnservedMs?: number | undefined;
  /** After how long such a wait is among the `warnings`, in ms, which never make a check fail. @default 60,000 */
  unservedWarningMs?: number | undefined;
  /** True if each queue must have a worker, in this process or any other. @default false */
  requireWorker?: boolean | undefined;
  /** The verdict on a queue, on Redis or on the outbox, that fails the check. @default no verdict makes it fail */
  failOn?: 'warning' | 'critical' | undefined;
  /**
   * Looks also at the queues of this Redis that the app does not know, at most every 30 s. One that needs a look is among the
   * `warnings` of the next check. It never makes the check slow or fail. Not where `queues` is set.
   *
   * @default true
   */
  otherQueues?: boolean | undefined;
  /** The time Redis may take to reply, in ms. @default 1,000 */
  timeoutMs?: number | undefined;
}

/** The report of a check, beside its status. */
export interface JobQueueHealthReport extends Record<string, unknown> {
  /** Why it is down, in words. */
  message?: string;
  /**
   * Problems that did not fail the check. They are faults of Redis or the outbox, jobs that no live worker handles, and queues that no
   * process maintains. Also queues of a Cluster whose scripts cannot wake this worker. Also queues that this app does not know and that need a look. Also handlers here without a timeout that have run for more than 15 minutes.
   */
  warnings?: string[];
  /** The state of the connection. */
  redis: {
    reachable: boolean;
    latencyMs?: number;
    /**
     * The reason why Redis accepts no jobs, now or soon. Absent if nothing does, or if its user lacks the permission.
     */
    verdict?: ServerVerdict;
  };
  /** This process's worker; absent in a producer. */
  worker?: WorkerHealth;
  /** The verdict on the outbox. Absent in an app without one. */
  outbox?: OutboxVerdict;
  /** The state of each queue, by name. */
  queues?: Record<string, QueueHealth | UnreadableQueueHealth>;
}

/** A queue that could not be read: its verdict says why, and nothing else is known. */
export type UnreadableQueueHealth = Pick<QueueHealth, 'verdict'>;

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
  /** The number of scheduled jobs that wait for a signal or sleep. They are no backlog. Absent for none. */
  parked?: number;
  /**
   * The verdict: whether work flows, the likely cause if not, and the next step. Dashboard and command line show the
   * same.
   */
  verdict: Omit<QueueVerdict, 'queue'>;
  /** Absent for none. */
  unserved?: QueueStats['unserved'];
  /** Absent where the queue is maintained, or no worker serves it and no job runs. */
  maintenanceOverdue?: true;
};

/** A worker as a health check reports it. */
export interface WorkerHealth {
  /** The number of jobs that run in this process now. */
  running: number;
  /**
   * The time since Redis last replied to a fetch, in ms. 0 while all slots are busy or the worker is paused here, or waits
   * for a job of many queues. A wait counts from the time at which it should have ended.
   * Before the first: the time since the app started.
   */
  sinceLastFetchMs: number;
  /** The jobs whose handlers continue although their signals were aborted, until they end; absent for none. */
  stuck?: readonly StuckJob[];
  /** Why it does not run. */
  error?: string;
}

/** Returns why queues and worker are not as they should be, in words. Empty if all is well. */
export function reasonsAgainst(
  limits: JobQueueHealthOptions,
  queues: Record<string, QueueHealth>,
  worker: WorkerHealth | undefined,
): string[] {
  return [
    ...workerReasons(limits, worker),
    ...Object.entries(queues).flatMap(([name, queue]) =>
      queueReasons(limits, queue).map((reason) => `${name}: ${reason}`),
    ),
  ];
}

/** Returns the problems of queues, and of this process's handlers, that did not fail the check. */
export function warningsOf(
  { unservedWarningMs = 0, maxUnservedMs = Infinity }: JobQueueHealthOptions,
  queues: Record<string, QueueHealth>,
  longRuns: readonly LongRun[],
): string[] {
  const ofQueues = Object.entries(queues).flatMap(([queue, { unserved = [], maintenanceOverdue }]) => [
    ...unserved
      .filter(({ waitingMs }) => waitingMs > unservedWarningMs && waitingMs <= maxUnservedMs)
      .map((each) => `${queue}: ${unservedText(each)}`),
    ...(maintenanceOverdue
      ? [`${queue}: no process maintains the queue; leave maintenance on in at least one process of the fleet`]
      : []),
  ]);
  return [...ofQueues, ...longRuns.map(longRunText)];
}

/** Returns the warning for queues whose wakes do not reach this process's worker. Empty if there are none. */
export function unheardText(queues: readonly string[]): string[] {
  return queues.length > 0
    ? [
        `Redis cannot wake this worker in ${counted(queues.length, 'queue')}, such as ${show(queues[0])}, so their jobs may start a second late`,
      ]
    : [];
}

function longRunText({ queue, id, name, forMs }: LongRun): string {
  return `${queue}: the handler of ${show(name)} has run for ${duration(forMs)} without a timeoutMs (job ${id})`;
}

function unservedText({ name, waitingMs }: UnservedName): string {
  return `jobs named ${show(name)} wait for ${duration(waitingMs)}, and no live worker handles the name`;
}

function workerReasons(
  { maxSinceLastFetchMs = Infinity }: JobQueueHealthOptions,
  worker: WorkerHealth | undefined,
) {
  if (worker?.error !== undefined) {
    return [`the worker could not start: ${worker.error}`];
  }
  const since = worker?.sinceLastFetchMs ?? 0;
  return since > maxSinceLastFetchMs
    ? [`the worker last fetched ${duration(since)} ago, more than ${duration(maxSinceLastFetchMs)}`]
    : [];
}

function queueReasons(limits: JobQueueHealthOptions, queue: QueueHealth): string[] {
  const { pending, oldestPendingAgeMs, failed, expiredClaims, unserved = [] } = queue;
  const { maxUnservedMs = Infinity } = limits;
  return [
    ...(limits.requireWorker && queue.workers === 0
      ? [pending > 0 ? `${pending} waiting, no worker` : 'no worker']
      : []),
    ...exceeded(pending, limits.maxPending, `${pending} waiting`),
    ...exceeded(
      oldestPendingAgeMs,
      limits.maxOldestPendingAgeMs,
      `the oldest waits for ${duration(oldestPendingAgeMs)}`,
      duration,
    ),
    ...unserved
      .filter(({ waitingMs }) => waitingMs > maxUnservedMs)
      .map((each) => `${unservedText(each)}, more than ${duration(maxUnservedMs)}`),
    ...(fails(queue.verdict.severity, limits.failOn) ? [queue.verdict.summary] : []),
    ...exceeded(failed, limits.maxFailed, `${failed} dead letters`),
    ...exceeded(expiredClaims, limits.maxExpiredClaims, `${expiredClaims} expired claims`),
  ];
}

/** Returns whether a verdict is as bad as the option says. */
export function fails(severity: Severity, failOn: JobQueueHealthOptions['failOn']): boolean {
  return severity === failOn || (failOn === 'warning' && severity === 'critical');
}

function exceeded(
  value: number,
  limit: number | undefined,
  words: string,
  said: (value: number) => string = String,
): string[] {
  return limit !== undefined && value > limit ? [`${words}, more than ${said(limit)}`] : [];
}
