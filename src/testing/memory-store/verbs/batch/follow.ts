// A new job that joins a batch, or waits for others; see lua/lib/batch/join and follow.
import { leavePlain } from '../write-options.js';
import { EnqueueRejected, type EncodedJob, type FollowRefusal } from '../../../../queue/store/enqueue-call.js';
import { idsOf, isRef, listOf } from '../../../../queue/store/job-ref.js';
import type { AskedOptions } from '../../state/asked-options.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';

const MOST_DEPENDENTS = 1_000;

/** @throws EnqueueRejected where it cannot join its batch, or wait for the jobs of its `after` */
export function refuseFollow(queue: MemoryQueue, job: EncodedJob, options: AskedOptions | undefined): void {
  const refusal = options && (batchRefusal(queue, job.id, options) ?? afterRefusal(queue, job.id, options));
  if (refusal) {
    throw new EnqueueRejected(job, 0, refusal);
  }
}

function batchRefusal(queue: MemoryQueue, id: string, { batch }: AskedOptions): FollowRefusal | undefined {
  if (batch === undefined || isRef(batch)) {
    return undefined;
  }
  const found = queue.followUps.get(batch);
  if (!found) {
    return { reason: 'no-batch', about: batch };
  }
  return found.sealedAt !== undefined && !found.isMember(id) ? { reason: 'sealed', about: batch } : undefined;
}

function afterRefusal(queue: MemoryQueue, id: string, { after = [] }: AskedOptions): FollowRefusal | undefined {
  for (const about of queue.job(id) ? [] : after) {
    const job = queue.job(about);
    if (!job) {
      return { reason: 'unknown', about };
    }
    if (job.status === 'failed' || job.status === 'cancelled') {
      return { reason: job.status, about };
    }
    if (idsOf(job.dependents).length >= MOST_DEPENDENTS) {
      return { reason: 'crowded', about };
    }
  }
  return undefined;
}

/** Makes a new job a member of its batch, and lets it wait for others. Returns whether it may start by its own options. */
export function follow(queue: MemoryQueue, id: string, job: Hash, options: AskedOptions): boolean {
  if (options.batch !== undefined && !isRef(options.batch)) {
    const batch = queue.followUps.get(options.batch)!;
    batch.join(id);
    if (batch.stoppedAt !== undefined) {
      job.cancel_requested_at_ms = String(queue.now);
    }
  }
  const open = (options.after ?? []).filter((each) => queue.job(each)?.status !== 'completed');
  for (const each of open) {
    const before = queue.job(each)!;
    before.dependents = listOf([...idsOf(before.dependents), id]);
    leavePlain(before);
  }
  if (open.length === 0) {
    return true;
  }
  Object.assign(job, { after: listOf(open), after_delay_ms: String(options.delay_ms ?? 0), status: 'scheduled' });
  queue.scheduled.set(id, Infinity); // a start that never comes
  return false;
}
