import { slotsOfJob, type WorkerRecord } from '../../queue/model/worker-record.js';
import type { SeenDeath } from '../../inspect/queue-signs.js';
import { hostOf } from '../../inspect/words.js';
import { inOrder } from '../views/overview-changes.js';
import type { EndedWorkerView, RunningView, WorkerView } from '../views/views.js';

/** A worker as one queue knows it. */
export interface SeenWorker extends WorkerRecord {
  queue: string;
}

/** A claimed job with its worker. Its enqueue may have asked for `slots`. */
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
  for (const { worker: id, isPrefetched, slots: asked, ...job } of claimed) {
    // Also the claims of a client without an announcement, or of a worker that is gone.
    const owner = id ?? 'another client';
    const worker = byId.get(owner) ?? newWorker(owner);
    const seenBy = seen.find((each) => each.id === owner && each.queue === job.queue);
    const slots = seenBy ? slotsOfJob(seenBy, { name: job.name, ...(asked !== undefined && { slots: asked }) }) : 1;
    (isPrefetched ? worker.prefetched : worker.running).push({ ...job, ...(slots > 1 && { slots }) });
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

/** The most dead workers that are listed. */
const MOST_ENDED = 100;

/** Joins the dead workers of the queues: one entry for each process, the last first. */
export function endedOf(deaths: readonly (SeenDeath & { queue: string })[]): EndedWorkerView[] {
  const byId = new Map<string, EndedWorkerView>();
  for (const { worker: id, at, how, jobs, ran, queue } of deaths) {
    const known = byId.get(id);
    byId.set(id, {
      id,
      ...hostOf(id),
      how,
      at: Math.max(known?.at ?? 0, at.getTime()),
      jobs: (known?.jobs ?? 0) + jobs,
      ran: [...(known?.ran ?? []), ...ran.map((job) => ({ queue, ...job }))],
    });
  }
  return [...byId.values()].toSorted((a, b) => b.at - a.at || a.id.localeCompare(b.id)).slice(0, MOST_ENDED);
}

function joined(worker: WorkerView, seen: SeenWorker): Partial<WorkerView> {
  const {
    queue,
    seenAt,
    startedAt,
    host,
    pid,
    app,
    version,
    slots,
    processSlots = Infinity,
    stuck = [],
    holds,
  } = seen;
  const isNew = worker.queues.length === 0;
  return {
    queues: [...worker.queues, queue],
    seenAt: Math.max(worker.seenAt, seenAt.getTime()),
    host: host ?? worker.host,
    pid: pid ?? worker.pid,
    app: app ?? worker.app,
    version: version ?? worker.version,
    startedAt: startedAt?.getTime() ?? worker.startedAt,
    slots: slots === undefined ? worker.slots : Math.min(processSlots, (worker.slots ?? 0) + slots),
    // It is silent only if all its queues say so.
    holds: holds === undefined || (worker.holds === null && !isNew) ? null : (worker.holds ?? 0) + holds,
    stuck: [...worker.stuck, ...stuck.map((job) => ({ ...job, queue }))],
  };
}

function newWorker(id: string): WorkerView {
  return {
    id,
    ...hostOf(id),
    seenAt: 0,
    slots: null,
    app: null,
    version: null,
    startedAt: null,
    queues: [],
    running: [],
    prefetched: [],
    stuck: [],
    holds: null,
  };
}
