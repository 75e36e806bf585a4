// The figures of a queue; see lua/queue/stats.lua.
import type { QueueStats, UnservedName } from '../../../queue/model/job.js';
import { pauseStats } from '../../state/pause.js';
import type { MemoryQueue } from '../../state/memory-queue.js';

export function stats(queue: MemoryQueue): QueueStats {
  const { now } = queue;
  const ageOf = (id: string): number => {
    const job = queue.job(id);
    return now - Number(job?.ready_at_ms ?? job?.enqueued_at_ms ?? now);
  };
  const first = [...queue.pending.slice(0, 10), ...queue.prioritized.members().slice(0, 5)];
  const due = queue.scheduled.members()[0];
  const dueAge = due === undefined ? 0 : now - queue.scheduled.score(due)!;
  const oldest = (ids: readonly string[]) => Math.max(0, ...ids.map(ageOf), dueAge);
  const { heldByGroups } = queue.flow;
  const groupOf = (id: string) => queue.job(id)?.group;
  const open = new Set([...new Set(first.map(groupOf))].filter((group) => queue.flow.mayStart(group)));
  const batches = [...queue.followUps.values()].filter(({ endedAt }) => endedAt === undefined).length;
  return {
    at: new Date(now),
    pending: queue.pending.length + queue.prioritized.size,
    ...(batches > 0 && { batches }),
    ...(heldByGroups > 0 && { heldByGroups }),
    scheduled: queue.scheduled.size,
    processing: queue.claims.size,
    completed: queue.completed.length,
    failed: queue.dead.size,
    ...(queue.kinds.size > 0 && { errorKinds: queue.kinds.size }),
    cancelled: queue.cancelled.length,
    oldestPendingAgeMs: oldest(first),
    oldestUnheldAgeMs: oldest(first.filter((id) => open.has(groupOf(id)))),
    expiredClaims: queue.claims.upTo(now).length,
    workers: queue.liveWorkers,
    unserved: unservedNames(queue, first, ageOf),
    maintainedAt: null,
    maintenanceOverdue: false,
    ...pauseStats(queue.paused),
    ...(queue.dropped.at !== undefined && { droppedAt: new Date(queue.dropped.at) }),
    totals: { ...queue.totals },
  };
}

/** Returns the names of waiting jobs that no live worker handles, the longest wait first. */
function unservedNames(queue: MemoryQueue, ids: readonly string[], ageOf: (id: string) => number): UnservedName[] {
  const names = ids.map((id) => ({ name: queue.job(id)?.name ?? queue.name, waitingMs: ageOf(id) }));
  const first = new Map(names.toSorted((a, b) => a.waitingMs - b.waitingMs).map((each) => [each.name, each]));
  return [...first.values()].filter(({ name }) => !queue.announced.isServed(name, queue.now)).toReversed();
}
