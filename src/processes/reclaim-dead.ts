import { setTimeout as delay } from 'node:timers/promises';
import type { WorkerLifecycle } from '../nest/lifecycle/worker-lifecycle.js';
import type { ServingWorker } from './messages.js';

/** The time after which a claim that a process sent right before its end has reached Redis, in ms. */
const LAST_CALLS_MS = 1_000;

/**
 * Reclaims the claims of a worker whose process has ended, in the queues that this process knows. It looks twice, because
 * the last claim of that process may reach Redis after the first look.
 */
export async function reclaimDead(lifecycles: readonly WorkerLifecycle[], worker: ServingWorker): Promise<void> {
  const reclaim = () =>
    Promise.all(lifecycles.map(({ maintenance }) => maintenance.reclaimWorker(worker.id, worker.queues)));
  await reclaim();
  await delay(LAST_CALLS_MS, undefined, { ref: false });
  await reclaim();
}
