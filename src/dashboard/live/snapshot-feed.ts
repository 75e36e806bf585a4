// Reads that viewers share: single ones, those of all queues again and again, and what of these each viewer has.
import { randomBytes } from 'node:crypto';
import { Injectable, Inject, type BeforeApplicationShutdown } from '@nestjs/common';
import { Observable, type Subscriber } from 'rxjs';
import { systemClock, outsideOfCaller } from '../../queue/runtime/clock.js';
import { within } from '../../queue/runtime/waits.js';
import { BulkRuns } from '../actions/bulk-runs.js';
import { type ResolvedDashboardOptions, DASHBOARD_OPTIONS } from '../dashboard-options.js';
import { ToldErrors } from '../told-errors.js';
import {
  type AwayView,
  changeOf,
  keyed,
  type KeyedOverview,
  type StreamEvent,
  type StreamMessage,
} from '../views/overview-changes.js';
import { OverviewReader, type OverviewReading } from './overview-reader.js';

const SHARED_MS = 700;
const MOST_SHARED = 200;

/**
 * Shares one read among simultaneous callers, so that ten viewers cost as much as one. `forget` drops earlier reads,
 * because a change that was made here must be visible at once.
 */
@Injectable()
export class SharedReads {
  private readonly reads = new Map<string, { at: number; answer: Promise<unknown> }>();

  get<Reply>(key: string, read: () => Promise<Reply>): Promise<Reply> {
    const now = performance.now();
    const known = this.reads.get(key);
    if (known && now - known.at < SHARED_MS) {
      return known.answer as Promise<Reply>;
    }
    this.prune(now);
    const answer = read();
    this.reads.set(key, { at: now, answer });
    answer.catch(() => this.reads.delete(key)); // the next request reads again
    return answer;
  }

  forget(): void {
    this.reads.clear();
  }

  private prune(now: number): void {
    for (const [key, { at }] of this.reads) {
      if (now - at >= SHARED_MS || this.reads.size >= MOST_SHARED) {
        this.reads.delete(key);
      }
    }
  }
}

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

/** How long a viewer that is away may continue where it was, in ms. Longer than a look of a tab without focus. */
const CONTINUES_MS = 30_000;
/** The most viewers that may continue. */
const MOST_VIEWERS = 500;

/** The messages to one viewer. */
export class SentState {
  atMs = performance.now();

  constructor(
    private readonly key: string,
    private count = 0,
    private overview?: KeyedOverview,
  ) {}

  /** Returns the id of the last message. The viewer names it to continue. */
  get id(): string {
    return `${this.key}.${this.count}`;
  }

  /** Returns the next message: the whole overview at first, and then its changes. */
  next({ overview, away }: StreamEvent): StreamMessage {
    this.count += 1;
    this.atMs = performance.now();
    if (!overview) {
      return { away };
    }
    const before = this.overview;
    this.overview = keyed(overview);
    return before ? { change: changeOf(before, this.overview) ?? {} } : { overview };
  }

  /** Returns a state of its own that continues after this one. */
  continued(): SentState {
    return new SentState(this.key, this.count, this.overview);
  }
}

/** Remembers what each viewer has, so that a stream which the browser opens again continues with changes. */
@Injectable()
export class SentStates {
  private readonly kept = new Map<string, SentState>();

  /** Begins a stream. It continues if the viewer has the last message of its stream before, and else it begins anew. */
  begin(lastId: string | undefined): SentState {
    this.prune();
    const key = lastId?.split('.')[0] ?? '';
    const before = this.kept.get(key);
    const continues = before?.id === lastId ? before?.continued() : undefined;
    const newKey = continues ? key : randomBytes(12).toString('base64url');
    const state = continues ?? new SentState(newKey);
    this.kept.delete(newKey); // the newest is the last of the map
    this.kept.set(newKey, state);
    return state;
  }

  private prune(): void {
    const oldest = performance.now() - CONTINUES_MS;
    for (const [key, { atMs }] of this.kept) {
      if (atMs < oldest || this.kept.size >= MOST_VIEWERS) {
        this.kept.delete(key);
      }
    }
  }
}
