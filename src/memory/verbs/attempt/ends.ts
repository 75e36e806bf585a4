// Ends jobs as dead letters or cancelled, and keeps the histories.
import { failureJobName } from '../../../queue/codec/failure-job.js';
import { FAILURE_PREFIX } from '../../../queue/validation/names.js';
import { jobEnded } from '../batch/job-ended.js';
import { EVICTED_TTL_MS, FAILURE_HANDLER_SEEN_MS } from '../../../queue/runtime/lifetimes.js';
import type { DrainedOutcome } from '../../../queue/store/call-outcomes.js';
import { dropDeadLetter } from './has-left.js';
import { retentionOf } from '../../state/announcements.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';

/** Makes a job a dead letter. @param kind see KindCount */
export function bury(queue: MemoryQueue, id: string, job: Hash, reason: string, kind: string): void {
  if (job.payload === undefined) {
    queue.count('broken');
  }
  const now = String(queue.now);
  Object.assign(job, {
    status: 'failed',
    claim_token: '',
    failed_at_ms: now,
    last_error: reason,
    last_error_at_ms: now,
  });
  queue.forgottenAt.delete(id);
  queue.kinds.add(id, job, kind, queue.now);
  queue.dead.set(id, queue.now);
  queue.flow.holds.hold(id, job, true);
  remember(queue, queue.failed, [id], retentionOf(queue).failedHistory);
  freeUnique(queue, id, job);
  queue.count('failed');
  jobEnded(queue, id, job, 'failed', reason);
  queue.emit(id, 'failed', { error: reason });
  queue.outcomes.add(queue, id, 'failed', job);
  reportFailure(queue, id, job, reason);
  trimDeadLetters(queue);
}

/** Adds the failure job of a dead letter, if a worker handles the failures of its name. */
function reportFailure(
  queue: MemoryQueue,
  id: string,
  { name, payload, attempts, fence }: Hash,
  reason: string,
): void {
  const announcedAt = queue.names.get(failureJobName(name ?? '')) ?? -Infinity;
  if (name === undefined || announcedAt < queue.now - FAILURE_HANDLER_SEEN_MS) {
    return;
  }
  const telling: Hash = {
    name: failureJobName(name),
    payload: JSON.stringify({
      id,
      name,
      error: reason,
      attempts: attempts ?? '0',
      failedAtMs: String(queue.now),
      payload,
    }),
    enqueued_at_ms: String(queue.now),
    priority: '1',
    options: '{}',
  };
  const tellingId = `${FAILURE_PREFIX}${id}:${fence ?? queue.now}`;
  queue.jobs.set(tellingId, telling);
  queue.toBack(tellingId, telling);
  queue.count('enqueued');
}

/** Deletes the oldest dead letters beyond the cap. */
export function trimDeadLetters(queue: MemoryQueue): void {
  const excess = queue.dead.size - retentionOf(queue).deadLetterCap;
  for (const id of excess > 0 ? queue.dead.members().slice(0, excess) : []) {
    queue.dead.delete(id);
    if (dropDeadLetter(queue, id)) {
      queue.count('dropped');
      queue.dropped.add(queue.now);
    }
  }
}

export function endCancelled(queue: MemoryQueue, id: string, job: Hash): void {
  Object.assign(job, { status: 'cancelled', claim_token: '', cancelled_at_ms: String(queue.now) });
  const { resultTtlMs } = JSON.parse(job.options ?? '{}') as { resultTtlMs?: number };
  queue.forgottenAt.set(id, queue.now + (resultTtlMs ?? retentionOf(queue).cancelledTtlMs));
  remember(queue, queue.cancelled, [id], retentionOf(queue).cancelledHistory);
  freeUnique(queue, id, job);
  queue.count('cancelled');
  jobEnded(queue, id, job, 'cancelled');
  queue.emit(id, 'cancelled');
  queue.outcomes.add(queue, id, 'cancelled', job);
}

export function freeUnique(queue: MemoryQueue, id: string, job: Hash): void {
  if (job.unique !== undefined && queue.unique.get(job.unique) === id) {
    queue.unique.delete(job.unique);
  }
}

/** Puts ids on a capped history, newest first. A job whose id falls off is forgotten soon. */
export function remember(queue: MemoryQueue, history: string[], ids: readonly string[], cap: number): void {
  history.unshift(...ids.toReversed());
  for (const id of history.splice(cap)) {
    const until = queue.forgottenAt.get(id);
    if (until !== undefined) {
      queue.forgottenAt.set(id, Math.min(until, queue.now + EVICTED_TTL_MS));
    }
  }
}

/** Publishes that the queue has drained, once for all jobs that have ended since; see lua/queue/publish-drained.lua. */
export function publishDrained(queue: MemoryQueue): DrainedOutcome {
  const waiting = queue.pending.length + queue.prioritized.size;
  if (waiting + queue.claims.size + queue.scheduled.upTo(queue.now).length > 0) {
    return 'busy';
  }
  const { completed = 0, failed = 0, cancelled = 0 } = queue.totals;
  const ended = `${completed} ${failed} ${cancelled}`;
  if (queue.drainedAfter === ended) {
    return 'already';
  }
  queue.drainedAfter = ended;
  if (queue.options.events !== 'off') {
    queue.host.publish(queue.name, { id: '', status: 'drained' });
  }
  return 'published';
}
