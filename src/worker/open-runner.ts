import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import { checkCount } from '../queue/validation/validate-options.js';
import type { ClaimBudget } from './runner/claim-budget.js';
import { safeListener } from './reports/safe-listener.js';
import type { QueueRunnerHost } from './runner/queue-runner-host.js';
import { QueueRunner } from './runner/queue-runner.js';
import type { WorkerLoops, WorkerParts } from './worker-loops.js';
import { resolveHandlers, type ResolvedWorkerOptions, type WorkerQueue } from './worker-options.js';

const DEFAULT_CONCURRENCY = 10;
/** The most jobs of a queue that one process runs at once. */
export const HIGHEST_CONCURRENCY = 100_000;

/** Opens one queue for a worker, and gives it the queue's handlers and retention. */
export function openRunner(
  { queue, concurrency = DEFAULT_CONCURRENCY, prefetch, handlers }: WorkerQueue,
  options: ResolvedWorkerOptions & { readonly budget: ClaimBudget },
  host: QueueRunnerHost<QueueRunner>,
): QueueRunner {
  const resolved = resolveHandlers(queue, handlers, options.middleware);
  const calls = queue.uncheckedCalls();
  return new QueueRunner({ queue, calls, handlers: resolved, concurrency, prefetch, budget: options.budget }, host);
}

/**
 * Returns a worker as its runners see it.
 *
 * @param loops returns the loops of the worker; undefined before its start
 */
export function runnerHost(
  { options, slots, isolation, failures, changed }: WorkerParts,
  loops: () => WorkerLoops | undefined,
  { announce, afterWake }: Pick<QueueRunnerHost<QueueRunner>, 'announce' | 'afterWake'>,
): QueueRunnerHost<QueueRunner> {
  return {
    failures,
    announce,
    afterWake,
    changed,
    shared: slots.shared,
    expectsJobs: (runner) => loops()?.trips.expectJobs(runner),
    holdsSettlements: (runner) => loops()?.trips.expectSettlements(runner),
    settle: () => loops()?.trips.settle(),
    emit: safeListener(options.onEvent, options.logger),
    warn: (message) => options.logger.warn(message),
    isolate: (runner, attempt, askedAtMs) => {
      isolation.isolate(runner, attempt, askedAtMs);
      loops()?.interruptWaits();
    },
    expectIsolated: () => isolation.expect(),
    sendsBack: () => isolation.sendsBack,
    interruptWait: () => loops()?.interruptWaits(),
    releaseIsolated: (runner) => isolation.releaseOf(runner),
  };
}

/** @throws InvalidOptionError */
export function checkConcurrency(queues: readonly WorkerQueue[], queue: string, concurrency: number): void {
  checkCount('concurrency', concurrency, 1, HIGHEST_CONCURRENCY);
  const served = queues.map((each) => each.queue.name);
  if (!served.includes(queue)) {
    throw new InvalidOptionError('setConcurrency queue', served.join(', '), show(queue));
  }
}
