import { UnexpectedReply } from '../store/unexpected-reply.js';
import type { QueueStats, UnservedName } from '../model/job.js';

/** Decodes the reply of `lua/queue/stats.lua`, pairs of field and value. */
export function decodeStats(reply: readonly string[][]): QueueStats {
  const values = new Map(reply as [string, string][]);
  if (!values.has('now_ms') || !values.has('pending')) {
    throw new UnexpectedReply('the figures of a queue', reply.flat());
  }
  const number = (field: string) => Number(values.get(field) ?? 0);
  const date = (field: string) => (number(field) > 0 ? new Date(number(field)) : null);
  const totals: Record<string, number> = {};
  for (const [field, value] of values) {
    if (field.endsWith('_total')) {
      totals[field.slice(0, -'_total'.length)] = Number(value);
    }
  }
  return {
    at: new Date(number('now_ms')),
    pending: number('pending'),
    ...(number('held_by_groups') > 0 && { heldByGroups: number('held_by_groups') }),
    ...(number('awaiting_permit') > 0 && { awaitingPermit: number('awaiting_permit') }),
    ...(number('batches') > 0 && { batches: number('batches') }),
    scheduled: number('scheduled'),
    ...(number('parked') > 0 && { parked: number('parked') }),
    processing: number('processing'),
    ...(number('foreign_claims') > 0 && { foreignClaims: number('foreign_claims') }),
    completed: number('completed'),
    failed: number('failed'),
    ...(number('error_kinds') > 0 && { errorKinds: number('error_kinds') }),
    cancelled: number('cancelled'),
    oldestPendingAgeMs: number('oldest_pending_age_ms'),
    oldestUnheldAgeMs: number('oldest_unheld_age_ms'),
    expiredClaims: number('expired_claims'),
    workers: number('workers'),
    ...(date('last_worker_at_ms') && { lastWorkerAt: date('last_worker_at_ms')! }),
    unserved: decodeUnserved(String(values.get('unserved') ?? '')),
    maintainedAt: date('maintained_at_ms'),
    maintenanceOverdue: number('maintenance_overdue') === 1,
    pausedAt: date('paused_at_ms'),
    ...said('pausedBy', values.get('paused_by')),
    ...said('pauseReason', values.get('pause_reason')),
    ...(date('paused_until_ms') && { pausedUntil: date('paused_until_ms')! }),
    ...(number('remembered_ids') > 0 && {
      rememberedIds: {
        count: number('remembered_ids'),
        ...(number('remembered_ids_bound') > 0 && { bound: number('remembered_ids_bound') }),
      },
    }),
    ...(number('late_after_ms') > 0 && { lateAfterMs: number('late_after_ms') }),
    ...(number('schedules') > 0 && { schedules: number('schedules') }),
    ...(date('schedules_overdue_since_ms') && { schedulesOverdueSince: date('schedules_overdue_since_ms')! }),
    ...(date('dropped_at_ms') && { droppedAt: date('dropped_at_ms')! }),
    totals,
  };
}

function said<Name extends string>(name: Name, value: string | undefined): { [Key in Name]?: string } {
  return (value ? { [name]: value } : {}) as { [Key in Name]?: string };
}

function decodeUnserved(text: string): UnservedName[] {
  const names = text === '' ? [] : (JSON.parse(text) as { name: string; waiting_ms: number }[]);
  return names
    .map(({ name, waiting_ms: waitingMs }) => ({ name, waitingMs }))
    .toSorted((a, b) => b.waitingMs - a.waitingMs || a.name.localeCompare(b.name));
}
