import type { QueueStats } from '../model/job.js';

/** Decodes the reply of `lua/queue/stats.lua`, a flat list of field and value. */
export function decodeStats(reply: readonly (string | number)[]): QueueStats {
  const values = new Map<string, string | number>();
  for (let i = 0; i < reply.length; i += 2) {
    values.set(String(reply[i]), reply[i + 1]!);
  }
  const number = (field: string) => Number(values.get(field) ?? 0);
  const totals: Record<string, number> = {};
  for (const [field, value] of values) {
    if (field.endsWith('_total')) {
      totals[field.slice(0, -'_total'.length)] = Number(value);
    }
  }
  return {
    pending: number('pending'),
    scheduled: number('scheduled'),
    processing: number('processing'),
    completed: number('completed'),
    failed: number('failed'),
    cancelled: number('cancelled'),
    oldestPendingAgeMs: number('oldest_pending_age_ms'),
    expiredClaims: number('expired_claims'),
    workers: number('workers'),
    pausedAt: values.get('paused_at_ms') ? new Date(number('paused_at_ms')) : null,
    totals,
  };
}
