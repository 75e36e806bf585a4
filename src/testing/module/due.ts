// Finds the remaining work of queues in memory, and the next due time.
import { handledAs } from '../../queue/validation/names.js';
import type { Hash, MemoryQueue } from '../../memory/state/memory-queue.js';

/** Returns whether a live worker runs jobs of this queue. */
function isServed(queue: MemoryQueue): boolean {
  return queue.workers.size > 0 && queue.paused === undefined;
}

function isHandled(queue: MemoryQueue, job: Hash | undefined): boolean {
  return handledAs(queue.announced.handlerLimits, job?.name ?? queue.name) !== undefined;
}

/** Returns whether a job can be claimed now, by a worker that handles its name. */
export function hasRunnable(queue: MemoryQueue): boolean {
  const waiting = waitingIn(queue);
  return (
    restsUntil(queue) === undefined && waiting.length > 0 && (!queue.flow.isActive || queue.flow.isOpen(waiting))
  );
}

/** Returns the jobs that wait only for a present worker, or for a limit. */
function waitingIn(queue: MemoryQueue): string[] {
  return isServed(queue) ? queue.line.filter((id) => isHandled(queue, queue.job(id))) : [];
}

/** Returns the end of the rest that a handler asked for; undefined if the queue does not rest. */
function restsUntil(queue: MemoryQueue): number | undefined {
  return queue.restsUntil > queue.now ? queue.restsUntil : undefined;
}

/**
 * Returns the next due time of a job that has already run, such as a retry, or Infinity.
 *
 * @param delayed whether delayed jobs that never ran count too
 */
export function nextRunAt(queue: MemoryQueue, delayed: boolean): number {
  if (!isServed(queue)) {
    return Infinity;
  }
  const scheduled = queue.scheduled.members().find((id) => {
    const job = queue.job(id);
    return isHandled(queue, job) && (delayed || job?.fence !== undefined);
  });
  const dueAt = scheduled === undefined ? Infinity : queue.scheduled.score(scheduled)!;
  const waiting = waitingIn(queue);
  return Math.min(dueAt, queue.flow.opensAt(waiting));
}

/** Returns the next due time after now of a job or a tick in the queue. */
export function nextDueAt(queue: MemoryQueue): number {
  const { now, scheduled, scheduleDue } = queue;
  const dues = [scheduled, scheduleDue].flatMap((set) => {
    const next = set.members().find((member) => set.score(member)! > now);
    return next === undefined ? [] : [set.score(next)!];
  });
  return Math.min(queue.paused?.untilMs ?? Infinity, queue.flow.opensAt(queue.line), ...dues);
}

/** Returns whether a live worker holds a job that waits for others of its bulk call. */
export function isGathering(queue: MemoryQueue): boolean {
  return queue.claims.members().some((id) => queue.workers.has(queue.job(id)?.worker ?? ''));
}

/** Returns whether time must pass step by step: a job is claimed, or waits for a present worker. */
export function isBusy(queue: MemoryQueue): boolean {
  return queue.claims.size > 0 || hasRunnable(queue);
}
