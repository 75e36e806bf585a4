import type { RunningView, WorkerView } from '../api/views.js';

/** A worker as one queue knows it. */
export interface SeenWorker {
  id: string;
  queue: string;
  seenAt: number;
}

/** How long after its last announcement a worker is still shown, in ms. */
const SHOWN_MS = 30_000;

/** Joins what the queues know of their workers: one entry for each process, with what it runs. */
export function workersOf(
  seen: readonly SeenWorker[],
  running: readonly (RunningView & { worker: string | null })[],
): WorkerView[] {
  const newest = Math.max(0, ...seen.map(({ seenAt }) => seenAt));
  const byId = new Map<string, WorkerView>();
  for (const { id, queue, seenAt } of seen.filter((each) => newest - each.seenAt < SHOWN_MS)) {
    const worker = byId.get(id) ?? newWorker(id);
    worker.queues.push(queue);
    worker.seenAt = Math.max(worker.seenAt, seenAt);
    byId.set(id, worker);
  }
  for (const { worker: id, ...job } of running) {
    // Also one that announced nothing: a client without a worker, or one that is gone while its claims last.
    const owner = id ?? 'another client';
    const worker = byId.get(owner) ?? newWorker(owner);
    worker.running.push(job);
    byId.set(owner, worker);
  }
  return [...byId.values()].toSorted((a, b) => a.id.localeCompare(b.id));
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
  };
}
