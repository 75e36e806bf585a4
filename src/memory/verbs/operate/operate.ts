// The verbs of operators; see lua/job and lua/queue.
import { leavePlain } from '../write-options.js';
import type { JobRecord, JobStatus } from '../../../queue/model/job.js';
import type { CancelReply, RemoveReply } from '../../../queue/store/call-outcomes.js';
import { WORKER_FORGOTTEN_MS } from '../../../queue/runtime/lifetimes.js';
import { jobEnded, jobReopened } from '../batch/job-ended.js';
import { isWaiting, replacePayload, restart } from '../change-job.js';
import { regainKey } from '../enqueue.js';
import { retentionOf } from '../../state/announcements.js';
import type { Hash, MemoryQueue } from '../../state/memory-queue.js';
import { removeFirst } from '../../state/scored-set.js';
import { endCancelled, freeUnique } from '../attempt/ends.js';
import { newJobOf } from './dead-letters.js';
import { record } from './list.js';

/** Cancels a waiting job at once, a running one through its worker. */
export function cancel(
  queue: MemoryQueue,
  id: string,
  request: string,
  ifStatus?: JobStatus,
): { outcome: CancelReply; cancelled?: JobRecord } {
  const job = queue.job(id);
  if (!job) {
    return { outcome: 'missing' };
  }
  if (job.status === 'cancelled') {
    const mine = request !== '' && job.cancel_request === request;
    const isPosted = (job.batch ?? job.dependents) !== undefined && queue.outbox.entries.size > 0;
    return { outcome: isPosted ? 'posted' : 'cancelled', ...(mine && { cancelled: record(queue, id)! }) };
  }
  if (job.status === 'completed' || job.status === 'failed') {
    return { outcome: 'finished' };
  }
  if (ifStatus !== undefined && job.status !== ifStatus) {
    return { outcome: 'changed' };
  }
  if (job.status !== 'processing' && queue.takeOut(id)) {
    if (request !== '') {
      job.cancel_request = request;
    }
    const known = queue.outbox.entries.size;
    endCancelled(queue, id, job);
    const outcome = queue.outbox.entries.size > known ? 'posted' : 'cancelled';
    return { outcome, ...(request !== '' && { cancelled: record(queue, id)! }) };
  }
  job.cancel_requested_at_ms ??= String(queue.now);
  if (job.worker !== undefined && job.claim_token) {
    queue.host.nudge(job.worker, queue.name);
  }
  return { outcome: 'requested' };
}

export function remove(queue: MemoryQueue, id: string, ifStatus?: JobStatus): RemoveReply {
  const job = queue.job(id);
  if (!job) {
    return queue.outbox.entries.size > 0 ? 'missing-posted' : 'missing';
  }
  if (ifStatus !== undefined && job.status !== ifStatus) {
    return 'changed';
  }
  if (job.status === 'processing') {
    return 'processing';
  }
  if (isWaiting(job)) {
    queue.count('removed');
  } else {
    removeFirst(queue[job.status as 'completed'], id);
  }
  endWindow(queue, id, job);
  const known = queue.outbox.entries.size;
  destroy(queue, id, job);
  return queue.outbox.entries.size > known ? 'posted' : 'removed';
}

function endWindow(queue: MemoryQueue, id: string, { window }: Hash): void {
  if (window !== undefined && queue.unique.get(window) === id) {
    queue.unique.delete(window);
    queue.uniqueExpiries.delete(window);
  }
}

function destroy(queue: MemoryQueue, id: string, job: Hash): void {
  queue.takeOut(id);
  queue.dead.delete(id);
  freeUnique(queue, id, job);
  queue.outcomes.delete(id);
  queue.drop(id);
  jobEnded(queue, id, job, 'removed');
}

export function reschedule(
  queue: MemoryQueue,
  id: string,
  start: { delayMs: number } | { runAtMs: number },
): 'scheduled' | 'pending' | 'refused' | 'missing' | { startsInMs: number; expiresInMs: number } {
  const job = queue.job(id);
  const { now } = queue;
  const dueAt = 'delayMs' in start ? now + start.delayMs : start.runAtMs;
  if (!job) {
    return 'missing';
  }
  if (!isWaiting(job) || job.after !== undefined) {
    return 'refused';
  }
  const expiresAt = job.expires_at_ms === undefined ? Infinity : Number(job.expires_at_ms);
  if (Math.max(dueAt, now) >= expiresAt) {
    return { startsInMs: dueAt - now, expiresInMs: expiresAt - now };
  }
  if (!queue.takeOut(id)) {
    return 'refused';
  }
  if (dueAt > now) {
    queue.toLater(id, job, dueAt);
    return 'scheduled';
  }
  queue.toBack(id, job, now, job.lifo !== undefined);
  return 'pending';
}

/** Sends dead letters back to work with all their attempts; the record of the old ones stays. */
export function redrive(queue: MemoryQueue, ids: readonly string[], payload: string): number {
  const found = ids.filter((id) => newJobOf(queue, id) === undefined && queue.dead.delete(id));
  const letters = found.filter((id) => queue.job(id)?.status === 'failed');
  for (const id of letters) {
    const job = queue.job(id)!;
    removeFirst(queue.failed, id);
    queue.kinds.leave(job);
    restart(job, 'failed_at_ms');
    if (payload !== '') {
      replacePayload(job, payload);
    }
    regainKey(queue, id, job);
    leavePlain(job);
    queue.toBack(id, job);
    jobReopened(queue, id, job);
  }
  queue.count('redriven', letters.length);
  return letters.length;
}

/** Deletes all old jobs of one place in one step: the cost of a test is no concern. */
export function clean(
  queue: MemoryQueue,
  place: JobStatus | 'prioritized' | 'grouped',
  olderThanMs: number,
  limit: number,
) {
  const latest = queue.now - olderThanMs;
  if (place === 'completed' || place === 'cancelled') {
    return cleanHistory(queue, place, latest, limit);
  }
  const ids = idsOf(queue, place)
    .filter((id) => ageStart(queue.job(id)!, place) <= latest)
    .slice(0, limit);
  for (const id of ids) {
    const job = queue.job(id)!;
    if (isWaiting(job)) {
      endWindow(queue, id, job);
      queue.count('removed');
    } else {
      removeFirst(queue.failed, id);
    }
    destroy(queue, id, job);
  }
  return { deleted: ids.length, next: ids.length === limit ? 0 : undefined };
}

/** Deletes from the oldest on. An id that has expired or is in use again only leaves the list. */
function cleanHistory(queue: MemoryQueue, place: 'completed' | 'cancelled', latest: number, limit: number) {
  const history = queue[place];
  let deleted = 0;
  for (let i = 0; i < limit; i++) {
    const id = history.at(-1);
    const job = id === undefined ? undefined : queue.job(id);
    const isMine = job?.status === place;
    const isOld = isMine && ageStart(job, place) <= latest;
    if (id === undefined || (isMine && !isOld && history.indexOf(id) === history.length - 1)) {
      return { deleted, next: undefined };
    }
    history.pop();
    if (isOld) {
      destroy(queue, id, job);
      deleted++;
    }
  }
  return { deleted, next: 0 };
}

function idsOf(queue: MemoryQueue, place: JobStatus | 'prioritized' | 'grouped'): string[] {
  const places: Record<string, readonly string[]> = {
    pending: queue.pending,
    prioritized: queue.prioritized.members(),
    grouped: [],
    scheduled: queue.scheduled.members(),
    failed: queue.dead.members(),
  };
  const status = place === 'prioritized' || place === 'grouped' ? 'pending' : place;
  return [...new Set(places[place] ?? [])].filter((id) => queue.job(id)?.status === status);
}

function ageStart(job: Hash, place: string): number {
  const fields: Record<string, string | undefined> = {
    completed: job.completed_at_ms,
    cancelled: job.cancelled_at_ms,
    failed: job.failed_at_ms,
    scheduled: job.enqueued_at_ms,
  };
  return Number(fields[place] ?? job.ready_at_ms ?? job.enqueued_at_ms);
}

/** Deletes all jobs, in every state. Counters, a pause and the schedules stay. */
export function purge(queue: MemoryQueue): { deleted: number; more: boolean } {
  const open = [
    ...queue.pending,
    ...queue.prioritized.members(),
    ...queue.scheduled.members(),
    ...queue.claims.members(),
  ];
  const standing = new Set([
    ...open,
    ...queue.completed,
    ...queue.cancelled,
    ...queue.failed,
    ...queue.dead.members(),
  ]);
  const deleted = [...standing].filter((id) => queue.job(id) && queue.drop(id)).length;
  queue.count('removed', open.length);
  [queue.prioritized, queue.scheduled, queue.claims, queue.dead].forEach((set) => set.clear());
  [queue.pending, queue.completed, queue.failed, queue.cancelled].forEach((ids) => ids.splice(0));
  [queue.unique, queue.uniqueExpiries, queue.replaced].forEach((map) => map.clear());
  queue.outcomes.clear();
  queue.forgetSweeps();
  if (queue.liveWorkers > 0) {
    const visibilityMs = Math.max(retentionOf(queue).visibilityMs, queue.options.visibilityMs);
    queue.announced.expiresAt = queue.now + WORKER_FORGOTTEN_MS + 2 * visibilityMs;
  } else {
    queue.workers.clear();
    queue.announced.forgetHandlers();
  }
  return { deleted, more: false };
}
