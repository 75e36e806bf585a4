// Lists of jobs; see lua/queue/list.lua and find.lua.
import type { JobOutcome } from '../../../queue/model/job-event.js';
import type { JobRecord, JobStatus } from '../../../queue/model/job.js';
import { groupBy } from '../../../queue/runtime/group-by.js';
import type { FoundJobs, JobQuery } from '../../../queue/store/find-query.js';
import { arrivalOf } from '../../state/head-by-turn.js';
import type { MemoryQueue } from '../../state/memory-queue.js';
import { jobRecord } from './job-record.js';

export function record(queue: MemoryQueue, id: string): JobRecord | null {
  const job = queue.job(id);
  return job?.status === undefined ? null : jobRecord(queue.name, id, job);
}

/** Returns how a job ended, where the queue keeps that. */
export function outcome(queue: MemoryQueue, id: string): JobOutcome | null {
  const line = queue.outcomes.get(queue.now, id);
  return line ? { id, queue: queue.name, ...line } : null;
}

export function list(queue: MemoryQueue, status: JobStatus, offset: number, limit: number): JobRecord[] {
  const ended = isEnded(status);
  const page = [...new Set(shownIds(queue, status).slice(offset, offset + limit))];
  return page.filter((id) => !ended || queue.job(id)?.status === status).flatMap((id) => record(queue, id) ?? []);
}

/** Reads all jobs of the state at once. */
export function find(queue: MemoryQueue, status: JobStatus, query: JobQuery): FoundJobs {
  const matches = list(queue, status, 0, Infinity).filter((job) => isMatch(queue, job, query));
  const passed = Math.min(query.skip, matches.length);
  return { jobs: matches.slice(passed, passed + query.most), passed, next: undefined };
}

function isMatch(
  queue: MemoryQueue,
  job: JobRecord,
  { name = job.name, metadata = {}, olderThanMs = -Infinity, newerThanMs = Infinity }: JobQuery,
): boolean {
  const { ready_at_ms: readyAt, enqueued_at_ms: enqueuedAt, ...hash } = queue.job(job.id) ?? {};
  const since = {
    pending: readyAt,
    scheduled: enqueuedAt,
    processing: hash.claimed_at_ms,
    completed: hash.completed_at_ms,
    failed: hash.failed_at_ms,
    cancelled: hash.cancelled_at_ms,
  }[job.status];
  const age = queue.now - Number(since ?? enqueuedAt);
  return (
    job.name === name &&
    age >= olderThanMs &&
    age <= newerThanMs &&
    Object.entries(metadata).every(([key, value]) => job.metadata?.[key] === value)
  );
}

function isEnded(status: JobStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

function shownIds(queue: MemoryQueue, status: JobStatus): readonly string[] {
  const places: Record<JobStatus, () => readonly string[]> = {
    pending: () => waitingIds(queue),
    scheduled: () => queue.scheduled.members(),
    processing: () => queue.claims.members(),
    completed: () => queue.completed,
    cancelled: () => queue.cancelled,
    failed: () => queue.dead.members().toReversed(),
  };
  return places[status]();
}

/** Returns the jobs without a group first. Then group by group, that with the oldest head first, see lua/lib/place/ids_of. */
function waitingIds(queue: MemoryQueue): string[] {
  const lines = groupBy(queue.line, (id) => queue.job(id)?.group);
  const arrivalOfHead = ([head]: readonly string[]) => arrivalOf(queue.job(head!)!);
  const ofGroups = [...lines].flatMap(([group, ids]) => (group === undefined ? [] : [ids]));
  return [
    ...(lines.get(undefined) ?? []),
    ...ofGroups.toSorted((a, b) => arrivalOfHead(a) - arrivalOfHead(b)).flat(),
  ];
}
