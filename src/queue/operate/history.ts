import { z } from 'zod';
import { Histogram } from '../runtime/histogram.js';
import type {
  HistoryCounts,
  HistoryPoint,
  HistoryQuantiles,
  HistoryReport,
  StoredMinute,
} from '../model/history.js';
import { wholeNumber } from '../validation/numbers.js';
import { checkOptions } from '../validation/validate-options.js';
import type { QueueAccess } from '../store/queue-store.js';
import type { HistorySlice } from '../verbs/history.js';

const MINUTE_MS = 60_000;
const HALF_HOUR_MS = 1_800_000;
const DAY_MS = 86_400_000;
const KEPT_MS = 3 * DAY_MS;
/** The most entries that one call reads. */
const SLICE = 500;

const optionsSchema = z.strictObject(
  {
    lastMs: wholeNumber(MINUTE_MS, KEPT_MS, ' ms').default(3_600_000),
    stepMs: z
      .custom<number>(
        (value) => Number.isInteger(value) && (value as number) > 0 && (value as number) % 60_000 === 0,
        {
          error: 'expected a multiple of 60000 ms',
        },
      )
      .default(MINUTE_MS),
  },
  { error: 'expected an object with lastMs, stepMs' },
);

/** The figures of a queue, minute by minute, for the last 72 hours. */
export class History {
  /** @internal */
  constructor(private readonly queue: QueueAccess) {}

  /**
   * Returns the figures of the last complete minutes. A job's figure may appear one minute late.
   *
   * @param options.lastMs the length of the past to read, in ms, at most 72 hours. Default: an hour
   * @param options.stepMs the length of a step, in ms, a multiple of a minute. Default: a minute
   * @throws InvalidOptionError
   * @example
   * const { points, total } = await queue.history.read({ lastMs: 24 * 3_600_000, stepMs: 15 * 60_000 });
   * total?.wait.p95; // 340: of 100 jobs 95 waited at most about 340 ms
   */
  async read(options: { lastMs?: number | undefined; stepMs?: number | undefined } = {}): Promise<HistoryReport> {
    const { lastMs, stepMs } = checkOptions('history.read', optionsSchema, options);
    return report([await this.minutes(lastMs)], stepMs);
  }

  /** @internal Returns this hour of the last three days, half an hour to each side of now. */
  async sameHour(): Promise<HistoryReport> {
    const days = [1, 2, 3].map((day) =>
      this.minutes(Math.min(KEPT_MS, day * DAY_MS + HALF_HOUR_MS), day * DAY_MS - HALF_HOUR_MS),
    );
    return report(await Promise.all(days), MINUTE_MS);
  }

  private async minutes(backMs: number, untilMs?: number): Promise<Minutes> {
    const slice = (after?: string) =>
      this.queue.exec((calls) => calls.history.read({ backMs, after, most: SLICE, untilMs }));
    const first = await slice();
    const entries = [...first.entries];
    for (let last = first.entries; last.length === SLICE;) {
      last = (await slice(entries.at(-1)!.id)).entries;
      entries.push(...last);
    }
    return { ...first, entries, fromMs: first.nowMs - backMs, toMs: first.nowMs - (untilMs ?? 0) };
  }
}

/** The entries of a time. */
interface Minutes extends HistorySlice {
  fromMs: number;
  toMs: number;
}

/** Returns the figures of some times together. */
function report(times: readonly Minutes[], stepMs: number): HistoryReport {
  const { nowMs, sinceMs, closedAtMs, marks, closedTotals } = times[0]!;
  if (sinceMs === undefined || closedAtMs === undefined) {
    return { at: new Date(nowMs), stepMs, points: [], total: undefined, marks };
  }
  const steps = new Map<number, Step>();
  const total = new Step();
  const begins: number[] = [];
  for (const { entries, fromMs, toMs } of times) {
    const startMs = floor(Math.max(sinceMs, fromMs), MINUTE_MS);
    const endMs = floor(Math.min(closedAtMs, toMs), MINUTE_MS);
    for (let at = floor(startMs, stepMs); at < endMs; at += stepMs) {
      steps.set(at, new Step());
    }
    for (const minute of entries.flatMap(inMinutes).filter(({ endMs: end }) => end > startMs && end <= endMs)) {
      steps.get(floor(minute.endMs - MINUTE_MS, stepMs))?.add(minute);
      total.add(minute);
    }
    if (endMs > startMs) {
      begins.push(startMs);
    }
  }
  const points = [...steps].map(([at, step]) => step.point(at));
  const sum = begins.length > 0 ? total.point(begins[0]!) : undefined;
  const closed = { at: new Date(closedAtMs), totals: closedTotals };
  return { at: new Date(nowMs), stepMs, points, total: sum, marks, closed };
}

/** A minute. A figure is undefined if it was not read. */
type Minute = Pick<StoredMinute, 'endMs' | 'counts'> & Partial<StoredMinute>;

/** Spreads an entry of several minutes over them. Depths and times are of the last minute. */
function inMinutes(entry: StoredMinute): Minute[] {
  const { minutes, endMs, counts } = entry;
  const share = (value: number, i: number) => Math.round((value * i) / minutes);
  const spread = Array.from({ length: minutes }, (_, i) => ({
    endMs: endMs - (minutes - 1 - i) * MINUTE_MS,
    counts: mapCounts(counts, (value) => share(value, i + 1) - share(value, i)),
  }));
  return [...spread.slice(0, -1), { ...entry, ...spread.at(-1)! }];
}

/** The figures of one step, while it is summed up. */
class Step {
  private counts: HistoryCounts = { enqueued: 0, completed: 0, failed: 0, cancelled: 0, retried: 0, reclaimed: 0 };
  private readonly most = { pending: 0, processing: 0, oldestPendingAgeMs: 0 };
  private readonly wait = new Histogram();
  private readonly run = new Histogram();
  /** The number of its minutes without a reading, and with one. An idle minute is neither. */
  private blind = 0;
  private seen = 0;

  add({ counts, pending, processing = 0, oldestPendingAgeMs = 0, wait, run }: Minute): void {
    this.counts = mapCounts(this.counts, (value, name) => value + counts[name]);
    if (pending === undefined) {
      this.blind++;
      return;
    }
    this.seen++;
    this.most.pending = Math.max(this.most.pending, pending);
    this.most.processing = Math.max(this.most.processing, processing);
    this.most.oldestPendingAgeMs = Math.max(this.most.oldestPendingAgeMs, oldestPendingAgeMs);
    this.wait.merge(wait ?? new Histogram());
    this.run.merge(run ?? new Histogram());
  }

  point(at: number): HistoryPoint {
    const unknown = { pending: null, processing: null, oldestPendingAgeMs: null };
    const depths = this.blind > 0 && this.seen === 0 ? unknown : this.most;
    return { at: new Date(at), ...this.counts, ...depths, wait: quantiles(this.wait), run: quantiles(this.run) };
  }
}

function quantiles(times: Histogram): HistoryQuantiles {
  return { count: times.count, p50: times.quantile(0.5), p95: times.quantile(0.95), p99: times.quantile(0.99) };
}

function mapCounts(
  counts: HistoryCounts,
  map: (value: number, name: keyof HistoryCounts) => number,
): HistoryCounts {
  const { enqueued, completed, failed, cancelled, retried, reclaimed } = counts;
  return {
    enqueued: map(enqueued, 'enqueued'),
    completed: map(completed, 'completed'),
    failed: map(failed, 'failed'),
    cancelled: map(cancelled, 'cancelled'),
    retried: map(retried, 'retried'),
    reclaimed: map(reclaimed, 'reclaimed'),
  };
}

function floor(value: number, step: number): number {
  return value - (value % step);
}
