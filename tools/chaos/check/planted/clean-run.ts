// Files and final state of a run without a fault, and ways to spoil them.
import { check } from '../check.js';
import { Facts } from '../../histories/facts.js';
import type { Entry, Settlement } from '../../histories/history.js';
import type { Snapshot, StoredJob } from '../snapshot.js';

export interface Run {
  files: Record<string, Entry[]>;
  snapshot: Snapshot;
}

/** A violation: its description, the checker's finding, and the change that plants it. */
export type Plant = [what: string, found: RegExp, plant: (run: Run) => void];

export const PRODUCER = 1;
const FIFO = 2;

/**
 * Returns the files and the final state of a faultless run. One producer has seven jobs, another has three in order.
 */
export function cleanRun(): Run {
  const files: Record<string, Entry[]> = {
    producer: [
      ['process', PRODUCER, 'producer'],
      ['time', 1_000],
      ['enqueue', 0, 7],
      ['kind', 2, 'delayed', 500],
      ['kind', 3, 'final', 0],
      ['kind', 5, 'later', 3_600_000],
      ['enqueued', 0, 7],
      ['answer', 6, 'refused', ''],
    ],
    fifo: [
      ['process', FIFO, 'fifo-producer'],
      ['enqueue', 0, 3],
      ['enqueued', 0, 3],
    ],
    worker: [
      ['process', 3, 'worker'],
      ['time', 2_000],
      ...completed(PRODUCER, 0, 10),
      ['start', PRODUCER, 1, 1, 11],
      ['retry', PRODUCER, 1, 11],
      ...completed(PRODUCER, 1, 14, 2),
      ...completed(PRODUCER, 2, 13),
      ['start', PRODUCER, 3, 1, 15],
      ['failed', PRODUCER, 3, 15],
      ['tick', 'start', 'each:1', 16],
      ['tick', 'ok', 'each:1', 16],
      ['tick', 'completed', 'each:1', 16],
      ...completed(FIFO, 0, 1),
      ...completed(FIFO, 1, 2),
      ...completed(FIFO, 2, 3),
    ],
    operator: [
      ['process', 4, 'operator'],
      ['call', 'cancel', PRODUCER, 4],
      ['answered', 'cancel', PRODUCER, 4, 'cancelled'],
      ['audit'],
      ['audited', 7],
    ],
  };
  const snapshot: Snapshot = {
    jobs: [
      stored(0, 'completed', { resultFence: 10 }),
      stored(3, 'dead', { attempts: 1 }),
      stored(4, 'cancelled'),
      stored(5, 'waiting'),
    ],
    totals: { enqueued: 10, completed: 7, cancelled: 1, failed: 1, retried: 1 },
    sequence: 0,
    minutes: {
      closed: 2,
      told: { enqueued: 5, completed: 2 },
      counters: { enqueued: 5, completed: 2 },
      waits: 0,
      runs: 0,
    },
    faults: [],
  };
  return { files, snapshot };
}

export function completed(process: number, number: number, fence: number, attempt = 1): Entry[] {
  return [
    ['start', process, number, attempt, fence],
    ['ok', process, number, fence],
    ['completed', process, number, fence],
  ];
}

export function stored(n: number, place: StoredJob['place'], more: Partial<StoredJob> = {}): StoredJob {
  return {
    id: `id-${n}`,
    place,
    work: { p: PRODUCER, n, kind: 'plain' },
    attempts: 1,
    errors: 1,
    crashes: 0,
    hasPayload: true,
    lastError: '',
    ...more,
  };
}

export function verdictOf({ files, snapshot }: Run) {
  const facts = new Facts();
  Object.values(files).forEach((entries) => entries.forEach(facts.add));
  facts.finish();
  // Each claim takes a number of the counter, so the sequence follows from the claims of the run.
  return check(facts, { ...snapshot, sequence: snapshot.sequence + facts.ends.claims });
}

export function work(run: Run, entries: Entry[]): void {
  run.files.worker!.push(...entries);
}

export function add(run: Run, job: StoredJob): void {
  run.snapshot.jobs.push(job);
}

/** Removes every trace of a job from the workers and the store, or puts `instead` into the store. */
export function dropAll(run: Run, number: number, ...instead: StoredJob[]): void {
  run.files.worker = run.files.worker!.filter((entry) => entry[1] !== PRODUCER || entry[2] !== number);
  run.snapshot.jobs = [...run.snapshot.jobs.filter(({ work: each }) => each?.n !== number), ...instead];
}

export function remove({ files }: Run): void {
  files.operator!.push(['call', 'remove', PRODUCER, 5], ['answered', 'remove', PRODUCER, 5, 'removed']);
}

export function start(number: number, attempt: number, fence: number): Entry[] {
  return [['start', PRODUCER, number, attempt, fence]];
}

/**
 * Ends the handler of an earlier claim after a later claim started. The check must not depend on which file is read
 * first.
 */
export function staleSettle(run: Run, answer: Settlement): void {
  run.files.operator!.push(['time', 2_050], ...start(5, 2, 31));
  work(run, [...start(5, 1, 30), ['time', 2_100], ['end', PRODUCER, 5, 30], [answer, PRODUCER, 5, 30]]);
}

/** Makes the waiting job a dead letter of another kind. */
export function bury(run: Run, kind: string, job: Partial<StoredJob>): void {
  run.files.producer = run.files.producer!.map((entry) =>
    entry[0] === 'kind' && entry[1] === 5 ? ['kind', 5, kind, 0] : entry,
  );
  run.snapshot.jobs = run.snapshot.jobs.map((each) => (each.work?.n === 5 ? stored(5, 'dead', job) : each));
  run.snapshot.totals.failed = 2;
}

export function early({ files }: Run): void {
  files.worker![1] = ['time', 1_100];
}

/** Returns two enqueues with one unique key, which are one job. */
export function sharing(first: number, second: number): Entry[] {
  return [
    ['enqueue', first, 2],
    ['answer', first, 'new', 'shared'],
    ['answer', second, 'replaced', 'shared'],
  ];
}

export function swap({ files }: Run): void {
  files.worker = files.worker!.map((entry) =>
    entry[0] === 'start' && entry[1] === FIFO && entry[2] === 1 ? ['start', FIFO, 1, 1, 4] : entry,
  );
}

export function broken(): StoredJob {
  const { work: _, ...job } = stored(9, 'dead', { id: 'x' });
  return { ...job, hasPayload: false };
}

export function tick(): Entry {
  return ['tick', 'completed', 'each:1', 16];
}

/** Lets the server die between the two instants, so that it may have lost the writes that it acknowledged then. */
export function forgetBetween(run: Run, fromMs: number, toMs: number): void {
  run.files = { runner: [['window', fromMs, toMs]], ...run.files };
}
