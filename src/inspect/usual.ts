// What is usual of a queue at this hour, and what is not: its wait, its run time, its arrivals. The same hour of the last days
// says it. A queue that is younger has the begin of its last hour.
import type { JobQueue } from '../queue/job-queue.js';
import type { HistoryPoint, HistoryReport } from '../queue/model/history.js';
import type { QueueSigns, RecentChange } from './queue-signs.js';

/** The time between two reads of the last days, in ms. */
const KEPT_MS = 600_000;
/** A figure jumps if its last minutes are this many times as high as usual. */
const JUMP = 3;
/** The minutes that a jump lasts, and the fewest minutes that say what is usual. */
const LAST = 3;
const FEWEST = 5;
/** The figures that jump, of a minute, and the least difference of a jump. Jobs may come in a burst of each day. */
const FIGURES = {
  run: { of: ({ run }: HistoryPoint) => run.p50 ?? [], least: 50, share: 0.5 },
  in: { of: ({ enqueued }: HistoryPoint) => enqueued / 60, least: 0.5, share: 0.9 },
};

const reads = new WeakMap<JobQueue, { atMs: number; days: Promise<HistoryReport> }>();

/** Returns this hour of the last days, read at most once in ten minutes. */
export function readDays(queue: JobQueue): Promise<HistoryReport> {
  const atMs = performance.now();
  const known = reads.get(queue);
  if (known && atMs - known.atMs < KEPT_MS) {
    return known.days;
  }
  const days = queue.history.sameHour();
  reads.set(queue, { atMs, days });
  days.catch(() => reads.delete(queue));
  return days;
}

/** Returns what is usual of a queue, and what has changed against it: the run time, or else the arrivals. */
export function usualOf(
  hour: HistoryReport,
  days?: HistoryReport,
): Pick<QueueSigns, 'usualRunMs' | 'usualWaitMs' | 'change'> {
  const known = (days?.total?.run.count ?? 0) >= FEWEST ? days : undefined;
  const { total } = known ?? hour;
  const slower = jumpOf('run', hour, known);
  const more = jumpOf('in', hour, known);
  return {
    usualRunMs: total?.run.p95 ?? undefined,
    usualWaitMs: total?.wait.p50 ?? undefined,
    change: slower && more ? { ...slower, alsoMore: true } : (slower ?? more),
  };
}

/** Returns the jump of a figure. The median of its last minutes is far above the usual. */
function jumpOf(
  of: RecentChange['of'],
  hour: HistoryReport,
  days: HistoryReport | undefined,
): RecentChange | undefined {
  const { of: figure, least, share } = FIGURES[of];
  const points = hour.points.filter((point) => typeof figure(point) === 'number');
  const values = points.flatMap(figure);
  const usual = days ? days.points.flatMap(figure) : values.slice(0, -LAST).slice(0, 2 * FEWEST);
  const before = quantile(usual, days ? share : 0.5);
  const now = quantile(values.slice(-LAST), 0.5);
  if (usual.length < FEWEST || values.length < LAST || now < JUMP * before || now - before < least) {
    return undefined;
  }
  // Of a figure that is usually 0, each value is many times as high.
  const last = values.findLastIndex((value) => value < Math.max(Math.sqrt(JUMP) * before, least));
  return last > values.length - 2
    ? undefined
    : { of, before, now, ...(last >= 0 && { since: points[last + 1]!.at }) };
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}
