import type { WorkerRecord } from '../../queue/model/worker-record.js';
import { inOrder } from '../views/overview-changes.js';
import type { RunningView, WorkerView } from '../views/views.js';

/** A worker as one queue knows it. */
export interface SeenWorker extends WorkerRecord {
  queue: string;
}

/** A claimed job with its worker. */
export interface ClaimedView extends RunningView {
  worker: string | null;
  isPrefetched: boolean;
}

/** Joins the workers of the queues: one entry for each process, with its jobs. */
export function workersOf(seen: readonly SeenWorker[], claimed: readonly ClaimedView[]): WorkerView[] {
  const byId = new Map<string, WorkerView>();
  for (const each of seen) {
    const worker = byId.get(each.id) ?? newWorker(each.id);
    byId.set(each.id, { ...worker, ...joined(worker, each) });
  }
  for (const { worker: id, isPrefetched, ...job } of claimed) {
    // Also the claims of a client without an announcement, or of a worker that is gone.
    const owner = id ?? 'another client';
    const worker = byId.get(owner) ?? newWorker(owner);
    (isPrefetched ? worker.prefetched : worker.running).push(job);
    byId.set(owner, worker);
  }
  return [...byId.values()]
    .map((worker) => ({
      ...worker,
      running: inOrder(worker.running),
      prefetched: inOrder(worker.prefetched),
    }))
    .toSorted((a, b) => a.id.localeCompare(b.id));
}

function joined(worker: WorkerView, seen: SeenWorker): Partial<WorkerView> {
  const { queue, seenAt, startedAt, host, pid, version, slots, processSlots = Infinity, stuck = [] } = seen;
  return {
    queues: [...worker.queues, queue],
    seenAt: Math.max(worker.seenAt, seenAt.getTime()),
    host: host ?? worker.host,
    pid: pid ?? worker.pid,
    version: version ?? worker.version,
    startedAt: startedAt?.getTime() ?? worker.startedAt,
    slots: slots === undefined ? worker.slots : Math.min(processSlots, (worker.slots ?? 0) + slots),
    stuck: [...worker.stuck, ...stuck.map((job) => ({ ...job, queue }))],
  };
}

function newWorker(id: string): WorkerView {
  const [, host, pid] = /^(.+?):(\d+)(?::.*)?$/.exec(id) ?? [];
  return {
    id,
    host: host ?? id,
    pid: pid === undefined ? null : Number(pid),
    seenAt: 0,
    slots: null,
    version: null,
    startedAt: null,
    queues: [],
    running: [],
    prefetched: [],
    stuck: [],
  };
}
