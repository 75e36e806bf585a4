import type { FailureLog } from './reports/failure-log.js';
import { Heartbeat, heartbeatIntervalMs } from './runner/heartbeat.js';
import type { QueueRunner } from './runner/queue-runner.js';
import { SharedIntervals } from './runner/shared-intervals.js';
import { systemClock } from '../queue/runtime/clock.js';
import { safeListener } from './reports/safe-listener.js';
import { Sweeper } from './maintenance/sweeper.js';
import type { ResolvedWorkerOptions, WorkerQueue } from './worker-options.js';

/** Starts to keep the claims of a worker alive. */
export function startHeartbeats(runners: readonly QueueRunner[], { logger }: ResolvedWorkerOptions): Heartbeat[] {
  const intervals = new SharedIntervals(runners[0]?.clock ?? systemClock);
  const heartbeats = runners.map(
    (runner) => new Heartbeat(runner, heartbeatIntervalMs(runner.queue.options), logger, intervals),
  );
  heartbeats.forEach((heartbeat) => heartbeat.start());
  return heartbeats;
}

/** Starts to maintain the queues of a worker. Returns undefined if another process does it. */
export function startSweeper(
  served: readonly WorkerQueue[],
  { logger, onEvent, sweepIntervalMs, version }: ResolvedWorkerOptions,
  failures: FailureLog,
): Sweeper | undefined {
  if (sweepIntervalMs === 0) {
    return undefined;
  }
  const queues = served.map(({ queue }) => queue);
  const emit = safeListener(onEvent, logger);
  const sweeper = new Sweeper(queues, sweepIntervalMs, logger, { emit, failures, version });
  sweeper.start();
  return sweeper;
}
