import { duration } from '../inspect/words.js';
import type { Severity } from '../inspect/queue-signs.js';
import type { UnservedName } from '../queue/model/job.js';
import type { LongRun } from '../queue/model/worker-record.js';
import { counted, show } from '../queue/errors/show.js';
import type { JobQueueHealthOptions, QueueHealth, WorkerHealth } from './health-report.js';

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
