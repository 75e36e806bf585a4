import { announcedContent } from '../../../queue/codec/announced-content.js';
import type { ResolvedQueueOptions } from '../../../queue/model/queue-options.js';
import { WORKER_SEEN_MS } from '../../../queue/scripts/lifetimes.js';
import type { WorkerVerbs } from '../../../queue/store/store-calls.js';
import type { MemoryQueue } from '../state/memory-queue.js';
import { callOf } from './memory-call.js';

export function workerVerbs(queue: MemoryQueue, options: ResolvedQueueOptions): WorkerVerbs {
  return {
    register: (worker, serves, handlers = []) =>
      callOf<void>('workerRegister', () => {
        if (serves) {
          queue.workers.set(worker, queue.now);
          queue.content = announcedContent(options);
          handlers.forEach((handler) => queue.handlerLimits.set(handler.name, handler));
        } else {
          queue.workers.delete(worker);
        }
      }),
    describe: () => callOf<void>('workerDescribe', () => undefined),
    list: (most) =>
      callOf('workerList', () =>
        [...queue.workers]
          .filter(([, seenAt]) => seenAt >= queue.now - WORKER_SEEN_MS)
          .toSorted(([, a], [, b]) => b - a)
          .slice(0, most)
          .map(([id, seenAt]) => ({ id, seenAt: new Date(seenAt) })),
      ),
  };
}
