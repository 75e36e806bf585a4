import { announcedContent } from '../../queue/codec/announced-content.js';
import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import type { WorkerRecord } from '../../queue/model/worker-record.js';
import { WORKER_DETAILS_MS } from '../../queue/runtime/lifetimes.js';
import { configuresLimits } from '../../queue/model/limits.js';
import type { WorkerVerbs } from '../../queue/store/store-calls.js';
import type { MemoryQueue } from '../state/memory-queue.js';
import { storedLimits } from './stored-limits.js';
import { callOf } from './memory-call.js';

export function workerVerbs(queue: MemoryQueue, options: ResolvedQueueOptions): WorkerVerbs {
  return {
    register: (worker, serves, handlers = []) =>
      callOf<void>('workerRegister', () => {
        if (serves) {
          queue.announced.expiresAt = Infinity;
          queue.workers.set(worker, queue.now);
          queue.lastSweepAt = Math.min(queue.lastSweepAt ?? Infinity, queue.now);
          queue.content = announcedContent(options);
          notePayload(queue, options);
          queue.announced.retention = options;
          configureLimits(queue, worker, options);
          for (const handler of handlers) {
            queue.announced.handlerLimits.set(handler.name, handler);
            queue.names.set(handler.name, queue.now);
          }
        } else {
          queue.workers.delete(worker);
          queue.forgetIfUnused();
        }
      }),
    describe: (worker, details, ageMs) =>
      callOf<void>('workerDescribe', () => {
        dropOldDetails(queue);
        if (details) {
          [...queue.workerDetails.keys()]
            .filter((each) => !queue.workers.has(each))
            .forEach((each) => queue.workerDetails.delete(each));
          queue.detailsKeptUntil = queue.now + WORKER_DETAILS_MS;
          queue.workerDetails.set(worker, { startedAt: queue.now - Math.round(ageMs), details });
        } else {
          queue.workerDetails.delete(worker);
        }
      }),
    list: (most) => callOf('workerList', () => liveWorkers(queue, most)),
    passWake: () =>
      callOf('workerPassWake', () => {
        if (queue.hasClaimable || queue.scheduled.size > 0) queue.host.wake(queue.name);
      }),
  };
}

/** Takes over the limits that a worker configures, unless those of another live worker are in force. */
function configureLimits(queue: MemoryQueue, worker: string, options: ResolvedQueueOptions): void {
  const { flow } = queue;
  const owner = flow.configured?.worker;
  const isOwned = queue.announced.liveWorkers(queue.now).some(({ id }) => id === owner && id !== worker);
  const { maxRunning, rateLimit, groups } = options;
  const limits = configuresLimits(options) ? storedLimits({ maxRunning, rateLimit, groups }) : undefined;
  const isSame = owner === worker && JSON.stringify(limits) === JSON.stringify(flow.configured?.limits);
  if (isOwned || isSame || (owner === undefined && limits === undefined)) {
    return;
  }
  flow.change({ configured: limits && { worker, limits } });
  if (!flow.set) {
    queue.waits.clear();
    queue.host.wake(queue.name);
  }
}

/** Returns the live workers with their details, the latest first. */
export function liveWorkers(queue: MemoryQueue, most: number): WorkerRecord[] {
  dropOldDetails(queue);
  return queue.announced
    .liveWorkers(queue.now)
    .toSorted((a, b) => b.seenAt - a.seenAt)
    .slice(0, most)
    .map(({ id, seenAt }) => {
      const { startedAt, details } = queue.workerDetails.get(id) ?? {};
      const started = startedAt !== undefined && { startedAt: new Date(startedAt) };
      return { id, seenAt: new Date(seenAt), ...details, ...started };
    });
}

/** Notes the limit of a worker or producer, so that no claim refuses what that limit allows. */
export function notePayload(queue: MemoryQueue, { maxPayloadBytes }: ResolvedQueueOptions): void {
  queue.largestPayloadBytes = Math.max(queue.largestPayloadBytes, maxPayloadBytes);
}

function dropOldDetails(queue: MemoryQueue): void {
  if (queue.detailsKeptUntil <= queue.now) {
    queue.workerDetails.clear();
  }
}
