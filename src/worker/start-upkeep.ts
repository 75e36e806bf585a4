import type { FailureLog } from './attempt/failure-log.js';
import { Heartbeat } from './attempt/heartbeat.js';
import type { QueueRunner } from './attempt/queue-runner.js';
import { guardedListener } from './attempt/safe-listener.js';
import { Sweeper } from './maintenance/sweeper.js';
import type { ResolvedWorkerOptions, WorkerQueue } from './worker-options.js';

/** Starts to keep the claims of a worker alive. */
export function startHeartbeats(runners: readonly QueueRunner[], { logger }: ResolvedWorkerOptions): Heartbeat[] {
  const heartbeats = runners.map((runner) => new Heartbeat(runner, runner.queue.options.visibilityMs / 3, logger));
  heartbeats.forEach((heartbeat) => heartbeat.start());
  return heartbeats;
}

/** Starts to maintain the queues of a worker; undefined where somebody else does. */
export function startSweeper(
  served: readonly WorkerQueue[],
  { logger, onEvent, sweepIntervalMs, version }: ResolvedWorkerOptions,
  failures: FailureLog,
): Sweeper | undefined {
  if (sweepIntervalMs === 0) {
    return undefined;
  }
  const queues = served.map(({ queue }) => queue);
  const emit = guardedListener(onEvent, logger);
  const sweeper = new Sweeper(queues, sweepIntervalMs, logger, { emit, failures, version });
  sweeper.start();
  return sweeper;
}
