// The figures of past minutes, as a queue in memory keeps them; see lua/history.
import { Histogram } from '../../queue/runtime/histogram.js';
import type { HistoryCounts, HistoryMark, StoredMinute } from '../../queue/model/history.js';
import { HISTORY_KEPT_MS } from '../../queue/runtime/lifetimes.js';
import type { HistorySlice, MinuteReading } from '../../queue/store/store-calls.js';

const MINUTE_MS = 60_000;
/** The time after which a version that returns is marked as a deploy again, in ms. */
const VERSION_SEEN_MS = 600_000;

/** The part of a queue that the history reads. */
interface CountingQueue {
  readonly now: number;
  readonly totals: Readonly<Record<string, number>>;
}

export class MemoryHistory {
  private sinceMs: number | undefined;
  private closedAtMs: number | undefined;
  private entries: StoredMinute[] = [];
  private marks: HistoryMark[] = [];
  private wait = new Histogram();
  private run = new Histogram();
  /** The counters at the last entry. */
  private totals: HistoryCounts | undefined;
  private readonly versions = new Map<string, number>();
  private readonly lastBatches = new Map<string, string>();

  constructor(private readonly queue: CountingQueue) {}

  addDurations(worker: string, batch: string, counts: readonly (string | number)[]): boolean {
    if (this.lastBatches.get(worker) === batch) {
      return false;
    }
    this.lastBatches.set(worker, batch);
    for (let i = 0; i < counts.length; i += 2) {
      const field = String(counts[i]);
      const times = field.startsWith('w') ? this.wait : this.run;
      times.add(Number(field.slice(1)), Number(counts[i + 1]));
    }
    return true;
  }

  /** Closes the last minute, if it is over. Returns in how many ms the next is. */
  closeMinute({ version, gapMs, ...depths }: MinuteReading): number {
    this.forgetLater();
    this.seeVersion(version);
    const { now } = this.queue;
    const { closedAtMs: last } = this;
    if (this.isClosed) {
      return this.leftMs;
    }
    const counts = this.gained();
    this.sinceMs ??= now;
    if (last !== undefined) {
      this.addEntry(last, counts, depths);
    }
    if (last !== undefined && now - last > gapMs) {
      this.marks.push({ kind: 'outage', at: new Date(last), endedAt: new Date(now) });
    }
    this.wait = new Histogram();
    this.run = new Histogram();
    this.closedAtMs = now;
    return this.leftMs;
  }

  /** Moves the open minute on, unless it has counts or comes after an outage. Then the caller must close it. */
  noteIdle(gapMs: number): boolean {
    const { now, totals } = this.queue;
    const last = this.closedAtMs;
    if (last === undefined) {
      this.gained();
      this.sinceMs ??= now;
    } else if (now - last > gapMs || last > now || this.hasCounts(totals)) {
      return true;
    }
    this.closedAtMs = now;
    return false;
  }

  private hasCounts(totals: Readonly<Record<string, number>>): boolean {
    return Object.entries(this.totals ?? {}).some(([name, before]) => (totals[name] ?? 0) !== before);
  }

  reportVersion(version: string): number {
    this.forgetLater();
    this.seeVersion(version);
    return this.isClosed ? this.leftMs : 0;
  }

  read(backMs: number, after: string | undefined, most: number): HistorySlice {
    const { sinceMs, closedAtMs, queue } = this;
    const from = queue.now - backMs;
    const afterMs = after === undefined ? from - 1 : Number(after.split('-')[0]);
    const entries = this.entries.filter(({ endMs }) => endMs > afterMs).slice(0, most);
    const marks = after === undefined ? this.marks.filter((mark) => endOf(mark) >= from).slice(0, 1_000) : [];
    return { nowMs: queue.now, sinceMs, closedAtMs, entries, marks };
  }

  private get leftMs(): number {
    return MINUTE_MS - (this.queue.now % MINUTE_MS);
  }

  /** The begin of the open minute. */
  private get minute(): number {
    return this.queue.now - (this.queue.now % MINUTE_MS);
  }

  private get isClosed(): boolean {
    return (this.closedAtMs ?? 0) >= this.minute;
  }

  /** Adds the entry of a minute, or of all since the last one. An idle minute has none. */
  private addEntry(last: number, counts: HistoryCounts, depths: Omit<MinuteReading, 'version' | 'gapMs'>): void {
    const { minute, wait, run, queue } = this;
    const gained = Object.values(counts).some((count) => count > 0);
    if (gained || wait.count + run.count + depths.pending + depths.processing > 0) {
      const minutes = Math.max(1, (minute - (last - (last % MINUTE_MS))) / MINUTE_MS);
      this.entries.push({ id: `${minute}-0`, endMs: minute, minutes, counts, ...depths, wait, run });
    }
    this.entries = this.entries.filter(({ endMs }) => endMs >= queue.now - HISTORY_KEPT_MS);
    this.marks = this.marks.filter((mark) => endOf(mark) >= queue.now - HISTORY_KEPT_MS);
  }

  /** Forgets what a clock that was ahead has written. */
  private forgetLater(): void {
    const { now } = this.queue;
    if ((this.closedAtMs ?? 0) > now + MINUTE_MS) {
      this.entries = this.entries.filter(({ endMs }) => endMs <= now);
      this.marks = this.marks.filter((mark) => endOf(mark) <= now);
      this.closedAtMs = this.minute;
    }
  }

  /** Marks the first minute of a version. */
  private seeVersion(version: string): void {
    const { now } = this.queue;
    if (version !== '' && (this.versions.get(version) ?? 0) < now - VERSION_SEEN_MS) {
      this.marks.push({ kind: 'deploy', at: new Date(now), version });
    }
    this.versions.set(version, now);
  }

  /** Returns the increase of each counter since the last entry. */
  private gained(): HistoryCounts {
    const {
      enqueued = 0,
      completed = 0,
      failed = 0,
      cancelled = 0,
      retried = 0,
      reclaimed = 0,
    } = this.queue.totals;
    const totals = { enqueued, completed, failed, cancelled, retried, reclaimed };
    const before = this.totals ?? totals;
    this.totals = totals;
    const gain = (name: keyof HistoryCounts) => Math.max(0, totals[name] - before[name]);
    return {
      enqueued: gain('enqueued'),
      completed: gain('completed'),
      failed: gain('failed'),
      cancelled: gain('cancelled'),
      retried: gain('retried'),
      reclaimed: gain('reclaimed'),
    };
  }
}

function endOf({ at, endedAt = at }: HistoryMark): number {
  return endedAt.getTime();
}
