import type { JobRecord, QueueStats } from 'nest-job-queue';
import { settings } from '../settings.js';
import type { WorkerPool } from './pool/worker-pool.js';

/** Returns the numbers of the Redis pattern's demo, under its names. */
export function statsView(stats: QueueStats, totals: Record<string, number>, pool: WorkerPool) {
  return {
    enqueued_total: totals.enqueued ?? 0,
    completed_total: totals.completed ?? 0,
    failed_total: totals.failed ?? 0,
    reclaimed_total: totals.reclaimed ?? 0,
    // A job that waits for its next attempt is in the pattern's pending list.
    pending_depth: stats.pending + stats.scheduled,
    processing_depth: stats.processing,
    completed_depth: stats.completed,
    failed_depth: stats.failed,
    visibility_ms: settings.visibilityMs,
    workers_running: pool.running,
    worker_processed_total: pool.processedTotal,
    work_latency_ms: pool.conditions.latencyMs,
    fail_rate: pool.conditions.failRate,
    hang_rate: pool.conditions.hangRate,
  };
}

export type StatsView = ReturnType<typeof statsView>;

/** Returns a job as the pattern's demo lists it. */
export function jobSummary(job: JobRecord) {
  return {
    id: job.id,
    status: job.status === 'scheduled' ? 'pending' : job.status,
    attempts: job.attempts,
    payload: job.payload ?? {},
    result: job.result ?? null,
    last_error: job.lastError ?? null,
  };
}
