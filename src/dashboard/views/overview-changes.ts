// The messages of the stream, and what differs between two overviews. Both sides import this.
import type { VerdictView, OverviewView, QueueView, RunningView, WorkerView } from './views.js';

/** A change of a JSON value: `[value]` replaces it, `[]` removes it, and an object changes some of its fields. */
export type Change = readonly [value?: unknown] | { readonly [field: string]: Change };

/** A worker whose jobs are found by their keys, because a list changes as a whole. */
interface KeyedWorker extends Omit<WorkerView, 'running' | 'prefetched'> {
  running: Record<string, RunningView>;
  prefetched: Record<string, RunningView>;
}

/** An overview whose queues, workers and jobs are found by their keys, so that each of them changes by itself. */
export interface KeyedOverview extends Omit<OverviewView, 'queues' | 'shards' | 'workers'> {
  queues: Record<string, QueueView>;
  queueOrder: string[];
  shards: Record<string, OverviewView['shards'][number]>;
  workers: Record<string, KeyedWorker>;
  workerOrder: string[];
}

export function keyed({ queues, shards, workers, ...rest }: OverviewView): KeyedOverview {
  return {
    ...rest,
    queues: byName(queues),
    queueOrder: queues.map(({ name }) => name),
    shards: byName(shards),
    workers: Object.fromEntries(workers.map((worker) => [worker.id, keyedWorker(worker)])),
    workerOrder: workers.map(({ id }) => id),
  };
}

export function listed({ queues, queueOrder, shards, workers, workerOrder, ...rest }: KeyedOverview): OverviewView {
  return {
    ...rest,
    queues: queueOrder.map((name) => queues[name]!),
    shards: Object.values(shards),
    workers: workerOrder.map((id) => listedWorker(workers[id]!)),
  };
}

function byName<Each extends { name: string }>(all: readonly Each[]): Record<string, Each> {
  return Object.fromEntries(all.map((each) => [each.name, each]));
}

function keyedWorker({ running, prefetched, ...rest }: WorkerView): KeyedWorker {
  return { ...rest, running: byKey(running), prefetched: byKey(prefetched) };
}

function byKey(jobs: readonly RunningView[]): Record<string, RunningView> {
  return Object.fromEntries(jobs.map((job) => [`${job.queue} ${job.id}`, job]));
}

function listedWorker({ running, prefetched, ...rest }: KeyedWorker): WorkerView {
  return { ...rest, running: inOrder(Object.values(running)), prefetched: inOrder(Object.values(prefetched)) };
}

/** Returns the jobs of a worker in their order: the longest claim first. */
export function inOrder(jobs: readonly RunningView[]): RunningView[] {
  return jobs.toSorted((a, b) => (a.claimedAt ?? 0) - (b.claimedAt ?? 0) || compare(a.id, b.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Returns the change from one JSON value to another; undefined where they are equal. A list changes as a whole. */
export function changeOf(before: unknown, after: unknown): Change | undefined {
  if (!isFields(before) || !isFields(after)) {
    return isEqual(before, after) ? undefined : [after];
  }
  const kept = Object.entries(after).filter(([, value]) => value !== undefined);
  const changes = kept.flatMap(([field, value]): [string, Change][] => {
    const change = Object.hasOwn(before, field) ? changeOf(before[field], value) : ([value] as const);
    return change === undefined ? [] : [[field, change]];
  });
  const removed = Object.keys(before)
    .filter((field) => before[field] !== undefined && (!Object.hasOwn(after, field) || after[field] === undefined))
    .map((field): [string, Change] => [field, []]);
  return changes.length + removed.length === 0 ? undefined : Object.fromEntries([...changes, ...removed]);
}

/** Returns the value after the change. Parts without a change are the same objects as before. */
export function changed(before: unknown, change: Change): unknown {
  if (isList(change)) {
    return change[0];
  }
  const fields = new Map(Object.entries(before as object) as [string, unknown][]);
  for (const [field, part] of Object.entries(change)) {
    if (isList(part) && part.length === 0) {
      fields.delete(field);
    } else {
      fields.set(field, changed(fields.get(field), part));
    }
  }
  return Object.fromEntries(fields);
}

function isList(change: Change): change is readonly [value?: unknown] {
  return Array.isArray(change);
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b));
}

/** The state as it is read: a read of Redis, or since when Redis does not reply. */
export type StreamEvent = { overview: OverviewView; away: null } | { overview: null; away: AwayView };

/** Why there is no new reading. */
export interface AwayView {
  since: number;
  message: string;
  /** True where Redis answers, and only the reading takes long. */
  isSlow: boolean;
}

/** A message of the stream to one viewer: all at first, then what has changed since the message before. */
export type StreamMessage = { overview: OverviewView } | { change: Change } | { away: AwayView };

/** Redis and its queues in one sentence, for the dashboard of another server. */
export interface ServerView {
  /** Null while there is no reading. */
  verdict: VerdictView | null;
}
