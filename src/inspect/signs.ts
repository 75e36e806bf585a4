import type { QueueStats } from '../queue/model/job.js';
import type { LimitsInForce } from '../queue/store/store-calls.js';
import type { QueueSigns } from './verdict.js';

/** A name that waits for less than this is no sign: its worker may just be starting, in ms. */
const PATIENCE_MS = 10_000;
/** Overdue, and nobody knows for how long, in ms. */
const LONG_AGO_MS = 61_000;

/** A queue as far as its signs are read; a JobQueue is one. */
export interface InspectedQueue {
  readonly name: string;
  readonly limits: { get(): Promise<LimitsInForce> };
  stats(): Promise<QueueStats>;
}

/** Reads what a verdict is made from: two script calls, whatever the length of the queue. */
export async function readSigns(queue: InspectedQueue): Promise<QueueSigns> {
  const [stats, limits] = await Promise.all([queue.stats(), queue.limits.get()]);
  return signsOf(queue.name, stats, limits);
}

/** The signs of a queue whose stats are known. */
export function signsOf(queue: string, stats: QueueStats, limits?: LimitsInForce): QueueSigns {
  const { unserved, maintenanceOverdue, maintainedAt } = stats;
  const at = new Date();
  const sinceMaintenanceMs = maintainedAt ? at.getTime() - maintainedAt.getTime() : 0;
  return {
    queue,
    stats,
    at,
    unserved:
      stats.workers > 0 ? unserved.filter(({ waitingMs }) => waitingMs > PATIENCE_MS).map(({ name }) => name) : [],
    limitedUntil: limits?.restsUntil ?? limits?.nextStartAt,
    maxRunning: limits?.maxRunning,
    sinceMaintenanceMs: maintenanceOverdue ? Math.max(LONG_AGO_MS, sinceMaintenanceMs) : 0,
  };
}
