import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Observable, type Subscriber } from 'rxjs';
import { systemClock, outsideOfCaller } from '../../queue/runtime/clock.js';
import { within } from '../../queue/runtime/waits.js';
import { BulkRuns } from '../actions/bulk-runs.js';
import type { AwayView } from '../views/stream-views.js';
import type { ResolvedDashboardOptions } from '../dashboard-options.js';
import { DASHBOARD_OPTIONS } from '../tokens.js';
import { ToldErrors } from '../told-errors.js';
import { OverviewReader, type OverviewReading } from './overview-reader.js';

/** The time a read may take before viewers see that Redis is away, in ms. */
const PATIENCE_MS = 2_500;

/** The silence after which Redis is away, in ms. Shorter, because the timer of the patience may fire 1 ms early. */
const SILENT_MS = 2_400;

/** A reading for all viewers, or why there is none. */
export type FeedEvent = { overview: OverviewReading; away: null } | { overview: null; away: AwayView };

/** Reads the state of all queues once for all viewers, repeatedly while there are any. */
@Injectable()
export class SnapshotFeed implements BeforeApplicationShutdown {
  private readonly viewers = new Set<Subscriber<FeedEvent>>();
  private last: FeedEvent | undefined;
  private lastReadAt = 0;
  private awaySince = 0;
  private reading: { event: Promise<FeedEvent>; isHeard: (silentMs: number) => boolean } | undefined;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    @Inject(DASHBOARD_OPTIONS) private readonly options: Pick<ResolvedDashboardOptions, 'refreshMs'>,
    @Inject(OverviewReader) private readonly reader: Pick<OverviewReader, 'listen' | 'read'>,
    @Inject(BulkRuns) private readonly runs: Pick<BulkRuns, 'list'>,
    @Inject(ToldErrors) private readonly told: Pick<ToldErrors, 'tell'>,
  ) {}

  /** True once the app ends. */
  get isClosed(): boolean {
    return this.closed;
  }

  /** Emits every new read; the last one at once if it is fresh. */
  watch(): Observable<FeedEvent> {
    return new Observable((viewer) => {
      if (this.closed) {
        viewer.complete();
        return undefined;
      }
      this.viewers.add(viewer);
      if (this.last && this.isFresh()) {
        viewer.next(this.last);
      }
      if (this.viewers.size === 1) {
        this.schedule();
      }
      return () => {
        this.viewers.delete(viewer);
      };
    });
  }

  /** Returns one read for a page that opens, shared with other callers of the same moment. */
  current(): Promise<FeedEvent> {
    return this.last && this.isFresh() ? Promise.resolve(this.last) : this.read();
  }

  /** Drops what was read before, because a change that was made here must be visible at once. */
  forget(): void {
    this.lastReadAt = -Infinity;
    this.reading = undefined;
    this.schedule();
  }

  /** Ends every stream: an open one would hold up the end of the app. */
  beforeApplicationShutdown(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.viewers.forEach((viewer) => viewer.complete());
    this.viewers.clear();
  }

  private async tick(): Promise<void> {
    clearTimeout(this.timer);
    const event = await this.read();
    this.viewers.forEach((viewer) => viewer.next(event));
    this.schedule();
  }

  /** Reads again once the last read is old, if there are viewers then. */
  private schedule(): void {
    clearTimeout(this.timer); // ends a second loop, which viewers that came and went in between have started
    if (this.viewers.size > 0 && !this.closed) {
      const waitMs = this.last ? this.options.refreshMs - (performance.now() - this.lastReadAt) : 0;
      const tick = () => this.viewers.size > 0 && void this.tick();
      this.timer = outsideOfCaller(() => setTimeout(tick, Math.max(0, waitMs)));
    }
  }

  private isFresh(): boolean {
    return performance.now() - this.lastReadAt < this.options.refreshMs;
  }

  private async read(): Promise<FeedEvent> {
    const reading = (this.reading ??= this.begin());
    const event = await within(systemClock, PATIENCE_MS, reading.event, () => this.late(reading.isHeard));
    if (this.reading !== reading) {
      return this.read(); // forgotten meanwhile
    }
    if (event.away?.isSlow !== true) {
      this.reading = undefined; // a slow one is waited for again
    }
    this.last = event;
    this.lastReadAt = performance.now();
    return event;
  }

  private begin() {
    return { isHeard: this.reader.listen(), event: this.readAll() };
  }

  private async readAll(): Promise<FeedEvent> {
    try {
      const [overview, runs] = await Promise.all([this.reader.read(), this.runs.list()]);
      this.awaySince = 0;
      return { overview: { ...overview, runs } satisfies OverviewReading, away: null };
    } catch (error) {
      return this.away(this.told.tell(error as Error));
    }
  }

  /** Tells a Redis that is silent from a reading that takes long. A busy process reads first what has arrived. */
  private async late(isHeard: (silentMs: number) => boolean): Promise<FeedEvent> {
    await new Promise<void>((resolve) => systemClock.afterReads(resolve));
    return isHeard(SILENT_MS)
      ? this.away('Redis answers, but to read all queues takes long.', true)
      : this.away('Redis does not answer.');
  }

  private away(message: string, isSlow = false): FeedEvent {
    this.awaySince ||= Date.now();
    return { overview: null, away: { since: this.awaySince, message, isSlow } };
  }
}
