import type { QueueStats } from '#queue/model/job.js';

/** The figures of a queue that was never used. */
export const NO_STATS: QueueStats = {
  at: new Date(0),
  pending: 0,
  scheduled: 0,
  processing: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  oldestPendingAgeMs: 0,
  oldestUnheldAgeMs: 0,
  expiredClaims: 0,
  workers: 0,
  unserved: [],
  maintainedAt: null,
  maintenanceOverdue: false,
  pausedAt: null,
  totals: {},
};
