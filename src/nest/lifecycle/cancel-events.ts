import type { JobQueue } from '../../queue/job-queue.js';
import { cancelledError } from '../../queue/store/claim-refusal.js';
import { unclaimedJob } from '../../worker/attempt/unclaimed-job.js';
import type { WorkerEventListener } from '../../worker/reports/worker-event.js';
import type { QueueRegistry } from '../connection/queue-registry.js';

/** Emits an event for each waiting job that a call of this process cancels, because no worker holds it. */
export function emitCancels(queues: QueueRegistry, emit: WorkerEventListener): void {
  // A queue that this process let go of may become known again.
  const followed = new WeakSet<JobQueue>();
  const follow = (queue: JobQueue) =>
    !followed.has(queue) &&
    followed.add(queue) &&
    void queue.onCancelled((record) => {
      const error = cancelledError(record.attempts > 0 || record.attemptLog.length > 0);
      emit({ type: 'cancelled', job: unclaimedJob(record, queue), error });
    });
  queues.all.forEach(follow);
  queues.watch({ added: follow, closed: () => undefined });
}
