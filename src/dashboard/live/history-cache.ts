import { Injectable } from '@nestjs/common';
import type { HistoryPoint, HistoryReport } from '../../queue/model/history.js';
import type { QueueStats } from '../../queue/model/job.js';
import type { JobQueue } from '../../queue/job-queue.js';
import { outOf } from '../../inspect/signs.js';
import { markInWords } from '../../inspect/words.js';
import type { PercentilesView, QueueView, HistoryView } from '../views/views.js';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const HOUR_MINUTES = 60;
/** A minute closes a few seconds late: looking more often than this finds the same, in ms. */
const KEPT_MS = 10_000;

/** The length of a chart's step by the hours that it covers, in ms. */
const CHART_STEPS = { 1: MINUTE_MS, 24: 10 * MINUTE_MS, 72: 30 * MINUTE_MS } as const;
type ChartHours = keyof typeof CHART_STEPS;

/** Reads the history of queues for all viewers together: at most once in ten seconds each. */
@Injectable()
export class HistoryCache {
  private readonly reports = new Map<string, { at: number; report: Promise<HistoryReport> }>();

  read(queue: JobQueue, hours: ChartHours): Promise<HistoryReport> {
    const key = `${hours} ${queue.name}`;
    const now = performance.now();
    const known = this.reports.get(key);
    if (known && now - known.at < KEPT_MS) {
      return known.report;
    }
    const report = queue.history.read({ lastMs: hours * HOUR_MS, stepMs: CHART_STEPS[hours] });
    this.reports.set(key, { at: now, report });
    report.catch(() => this.reports.delete(key)); // the next request reads again
    return report;
  }
}

/** The jobs that still wait, whose waits the history knows only once they start. */
type Waiting = Pick<QueueStats, 'pending' | 'oldestUnheldAgeMs'>;

/** Returns the wait that 95 % of the jobs stayed below, with those that still wait. Their ages count as spread evenly. */
function waitP95({ count, p95 }: HistoryPoint['wait'], { pending, oldestUnheldAgeMs }: Waiting): number | null {
  const longest = 0.05 * (count + pending); // so many jobs may have waited for longer
  const waits = pending > longest ? oldestUnheldAgeMs * (1 - longest / pending) : 0;
  return waits > (p95 ?? 0) ? Math.round(waits) : p95;
}

/** The history of an hour. For a queue with shards it has the points of all of them. */
export type HourReport = Pick<HistoryReport, 'at' | 'points' | 'total'>;

/** Returns the figures of an hour for the overview. */
export function lastHourOf(
  { at, points, total }: HourReport,
  waiting: Waiting,
): Pick<QueueView, 'lastHour' | 'spark'> {
  if (!total) {
    return { lastHour: null, spark: [] };
  }
  const failed = total.failed + total.retried;
  const ended = failed + total.completed;
  const lastHour = {
    failureRate: ended > 0 ? failed / ended : null,
    waitMs: { ...percentiles(total.wait), p95: waitP95(total.wait, waiting) },
    runMs: percentiles(total.run),
  };
  return { lastHour, spark: hourOf(points, at) };
}

/** Returns the jobs that ended in each minute of the hour; 0 for a minute that nobody recorded. */
function hourOf(points: readonly HistoryPoint[], now: Date): number[] {
  const first = Math.floor(now.getTime() / MINUTE_MS) - HOUR_MINUTES;
  const spark = Array.from({ length: HOUR_MINUTES }, () => 0);
  for (const point of points) {
    const minute = Math.floor(point.at.getTime() / MINUTE_MS) - first;
    if (minute >= 0 && minute < HOUR_MINUTES) {
      spark[minute]! += outOf(point);
    }
  }
  return spark;
}

/** Returns the same for a chart. */
export function historyView({ points, stepMs, marks }: HistoryReport): HistoryView {
  const list = <Value>(of: (point: HistoryPoint) => Value) => points.map(of);
  const quantiles = (kind: 'wait' | 'run') => ({
    p50: list((point) => point[kind].p50),
    p95: list((point) => point[kind].p95),
    p99: list((point) => point[kind].p99),
  });
  return {
    stepMs,
    at: list(({ at }) => at.getTime()),
    in: list(({ enqueued }) => enqueued),
    out: list(outOf),
    failed: list((point) => point.failed + point.retried),
    depth: list(({ pending }) => pending),
    oldestMs: list(({ oldestPendingAgeMs }) => oldestPendingAgeMs),
    wait: quantiles('wait'),
    run: quantiles('run'),
    marks: marks.flatMap((mark) => {
      const { kind, at, endedAt } = mark;
      // Deaths of workers have their own list: a chart of a crash loop would show nothing else.
      return kind === 'death'
        ? []
        : [{ at: at.getTime(), endAt: endedAt?.getTime() ?? null, kind, text: markInWords(mark) }];
    }),
  };
}

function percentiles({ p50, p95, p99 }: HistoryPoint['wait']): PercentilesView {
  return { p50, p95, p99 };
}
