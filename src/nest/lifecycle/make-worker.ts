import type { JobQueueLogger } from '../../queue/runtime/logger.js';
import type { AttemptMiddleware } from '../../worker/handlers/attempt-middleware.js';
import { Worker } from '../../worker/worker.js';
import type { QueueRegistry } from '../connection/queue-registry.js';
import { currentJobMiddleware } from '../context/current-job.js';
import type { HandlerRegistry } from '../handlers/handler-registry.js';
import type { JobListeners } from '../handlers/job-listeners.js';
import type { ResolvedModuleOptions } from '../options/job-queue.options.js';

/** The parts of an app that its workers use. */
interface WorkerParts {
  options: ResolvedModuleOptions;
  queues: QueueRegistry;
  handlers: HandlerRegistry;
  logger: JobQueueLogger;
  listeners: JobListeners;
  /** The middleware around attempts, without that of the current job. */
  middleware: readonly AttemptMiddleware[];
}

/** Makes the worker of some queues of an app. */
export function makeWorker(names: readonly string[], parts: WorkerParts): Worker {
  const { handlers, listeners, logger, options, queues } = parts;
  const { concurrency, shutdownTimeoutMs, logFailures, version, onTrip } = options;
  const served = names.map((name) => ({
    queue: queues.queue(name),
    concurrency: queues.concurrencyOf(name),
    prefetch: queues.prefetchOf(name),
    handlers: handlers.handlersOf(name),
    onFailed: handlers.failures.of(name),
    schedules: handlers.schedules.of(name),
  }));
  return new Worker(served, {
    concurrency,
    shutdownTimeoutMs,
    sweepIntervalMs: 0, // the scheduler sweeps, which covers queues without handlers too
    logger,
    logFailures,
    version,
    onTrip: listeners.tripListener(onTrip),
    middleware: [...(options.currentJob ? [currentJobMiddleware] : []), ...parts.middleware],
    onEvent: listeners.listener,
  });
}
