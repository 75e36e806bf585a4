import { InvalidOptionError } from '../queue/errors/errors.js';
import { show } from '../queue/errors/show.js';
import { slotBounds } from '../queue/model/slots.js';
import { checkCount } from '../queue/validation/validate-options.js';
import { isBulk } from './bulk/resolve-bulk.js';
import type { ClaimBudget } from './runner/claim-budget.js';
import { eventListener } from './reports/safe-listener.js';
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
  options: ResolvedWorkerOptions & { readonly budget: ClaimBudget; readonly worker: string },
  host: QueueRunnerHost<QueueRunner>,
): QueueRunner {
  const resolved = resolveHandlers(queue, handlers, options.middleware);
  const calls = queue.uncheckedCalls();
  const { budget, worker, limits: configured } = options;
  const sharing = { worker, configured };
  return new QueueRunner({ queue, calls, handlers: resolved, concurrency, prefetch, budget, sharing }, host);
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
    emit: eventListener(options.middleware, options.onEvent, options.logger),
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

/**
 * Checks that each job finds its slots in its queue and in the process.
 *
 * @param concurrencyOf returns the concurrency of a queue
 * @throws InvalidOptionError that names the slots and the concurrency
 */
export function checkSlots(
  queues: readonly WorkerQueue[],
  ofProcess: number | undefined,
  concurrencyOf = ({ concurrency = DEFAULT_CONCURRENCY }: WorkerQueue) => concurrency,
): void {
  for (const entry of queues) {
    const most = Math.min(concurrencyOf(entry), ofProcess ?? Infinity);
    const whose = most === ofProcess ? 'process' : 'queue';
    for (const [place, handlers] of Object.entries({ handlers: entry.handlers, onFailed: entry.onFailed ?? {} })) {
      for (const [name, handler] of Object.entries(handlers)) {
        const given = typeof handler === 'function' ? undefined : handler.slots;
        const slots = slotBounds(given).heaviest;
        const field = typeof given === 'object' ? 'slots.most' : 'slots';
        const subject = `worker queue "${entry.queue.name}".${place}.${name}.${field}`;
        if (slots > 1 && Object.values(entry.handlers).some(isBulk)) {
          const hint = 'In a queue with a bulk handler a slot is a call. Give the handler a queue of its own.';
          throw new InvalidOptionError(subject, 'none beside a bulk handler', show(slots), hint);
        }
        if (slots > 1 && entry.prefetch) {
          const hint = 'A queue with `slots` claims a job ahead only if it waits for its slots.';
          const prefetch = `worker queue "${entry.queue.name}".prefetch`;
          throw new InvalidOptionError(prefetch, '0, or none beside `slots`', show(entry.prefetch), hint);
        }
        if (slots > most) {
          const hint = 'Such a job would never start. Raise `concurrency`, or lower `slots`.';
          throw new InvalidOptionError(
            subject,
            `at most the concurrency ${most} of the ${whose}`,
            show(slots),
            hint,
          );
        }
      }
    }
  }
}

/** @throws InvalidOptionError */
export function checkConcurrency(queues: readonly WorkerQueue[], queue: string, concurrency: number): void {
  checkCount('concurrency', concurrency, 1, HIGHEST_CONCURRENCY);
  const served = queues.map((each) => each.queue.name);
  if (!served.includes(queue)) {
    throw new InvalidOptionError('setConcurrency queue', served.join(', '), show(queue));
  }
}
