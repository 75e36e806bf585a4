// Ends jobs that must not run, because a job of their `after` did not end well; see lua/lib/after/end_unmet.lua.
import { unmetMessage } from '../../../queue/store/claim-refusal.js';
import { idsOf, splitRef } from '../../../queue/store/job-ref.js';
import type { MemoryQueue } from '../../state/memory-queue.js';
import { bury, endCancelled } from '../attempt/ends.js';
import { unmetOf } from './unmet.js';
import { updateDependent } from './job-ended.js';

/** Ends unmet jobs, and the jobs that wait for them in turn. Returns the dead letters. */
export function endUnmet(queue: MemoryQueue): string[] {
  const failed: string[] = [];
  for (let ids = unmetIn(queue); ids.length > 0; ids = unmetIn(queue)) {
    for (const id of ids) {
      const job = queue.job(id)!;
      queue.takeOut(id);
      if (job.cancel_requested_at_ms !== undefined) {
        endCancelled(queue, id, job);
      } else {
        job.fence ??= String(++queue.sequence);
        delete job.after;
        bury(queue, id, job, unmetMessage(unmetOf(job)), '@unmet');
        failed.push(id);
      }
    }
  }
  return failed;
}

/**
 * Finds ends that no verb reported, because a hash is gone. A waiting job without a hash becomes due, so that a claim sets
 * it aside.
 */
export function findLostEnds(queue: MemoryQueue): void {
  for (const id of queue.scheduled.members()) {
    const job = queue.job(id);
    if (!job && queue.scheduled.score(id) === Infinity) {
      queue.scheduled.set(id, queue.now);
    }
    for (const before of idsOf(job?.after)) {
      const { queue: name, id: other } = splitRef(queue.name, before);
      const status = queue.host.find(queue, name)?.job(other)?.status ?? 'removed';
      if (status === 'completed' || status === 'failed' || status === 'cancelled' || status === 'removed') {
        updateDependent(queue, id, before, status);
      }
    }
  }
}

function unmetIn(queue: MemoryQueue): string[] {
  return queue.scheduled.members().filter((id) => queue.job(id)?.unmet !== undefined);
}
