import { PassThrough, type Transform } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { Injectable, Logger, StreamableFile } from '@nestjs/common';
import {
  EMPTY,
  type Observable,
  catchError,
  exhaustMap,
  filter,
  finalize,
  map,
  merge,
  of,
  takeUntil,
  takeWhile,
  timer,
} from 'rxjs';
import { z } from 'zod';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { type SentState, SentStates, type FeedEvent, SnapshotFeed } from '../live/snapshot-feed.js';
import { visibleOverview } from '../live/visible-overview.js';
import { Permissions } from '../security/permissions.js';
import { accepts, header } from '../security/access.guard.js';
import type { ServerView, StreamEvent } from '../views/overview-changes.js';
import { Responder, type Call, Reads, Routes, Streams } from './route.js';

/** The duration of a stream, in ms. The browser reopens it, so that the app's guards decide again about a viewer. */
const LONGEST_MS = 4_000;
/** The time before the browser reopens a stream, in ms. */
const RETRY_MS = 100;

/** The request of the HTTP adapter, with its parsed query. */
type StreamRequest = DashboardRequest & { query?: { after?: unknown } };
/** The response of Express, or of Fastify around that of node. */
type StreamResponse = NodeJS.EventEmitter & { raw?: NodeJS.EventEmitter };

/** The state of all queues, once and as one stream that all viewers share. */
@Injectable()
export class LiveController extends Routes {
  private readonly logger = SafeLogger.of(new Logger('JobQueueDashboard'));

  constructor(
    private readonly feed: SnapshotFeed,
    private readonly sent: SentStates,
    private readonly permissions: Permissions,
    private readonly responder: Responder,
  ) {
    super();
  }

  @Reads('api/overview', z.object({}))
  async overview(_query: object, { request }: Call): Promise<StreamEvent> {
    return this.seenBy(request, await this.feed.current());
  }

  /** Returns the verdict on all queues alone, for the dashboard of another server beside this one. */
  @Reads('api/verdict', z.object({}))
  async verdict(_query: object, { request }: Call): Promise<ServerView> {
    const { overview } = await this.seenBy(request, await this.feed.current());
    return { verdict: overview?.sentence ?? null };
  }

  @Streams('api/stream')
  stream(request: StreamRequest, response: unknown): void {
    const { after } = request.query ?? {};
    const last = header(request, 'last-event-id') ?? (typeof after === 'string' ? after : undefined);
    const state = this.sent.begin(last);
    const isZipped = accepts(request, 'gzip');
    const body = bodyOf(isZipped, (isDrained) => this.events(request, state, isDrained));
    const { raw = response } = response as StreamResponse;
    (raw as StreamResponse).once('close', () => body.destroy());
    this.responder.send(response, 200, new StreamableFile(body), streamHeaders(isZipped));
  }

  /** Returns the messages to one viewer. A viewer that reads slowly misses readings, and no change. */
  private events(request: DashboardRequest, state: SentState, isDrained: () => boolean): Observable<ServerEvent> {
    const messages = this.feed.watch().pipe(
      filter(isDrained),
      exhaustMap(async (event) => ({
        isAllowed: await this.permissions.allows('view', request),
        seen: await this.seenBy(request, event),
      })),
      takeWhile(({ isAllowed }) => isAllowed),
      map(({ seen }) => {
        const data = JSON.stringify(state.next(seen));
        return { id: state.id, data };
      }),
      catchError((error: unknown) => {
        this.logger.error('The dashboard failed to decide what a viewer may see', error);
        return EMPTY;
      }),
    );
    return merge(of({ type: 'hello', retry: RETRY_MS, data: '' }), messages).pipe(
      takeUntil(timer(LONGEST_MS)),
      finalize(() => this.endConnection(request)),
    );
  }

  /**
   * Ends the connection while the app stops. Otherwise the browser would use it again, and the server would wait for its
   * end.
   */
  private endConnection({ socket }: DashboardRequest): void {
    if (this.feed.isClosed) {
      setImmediate(() => socket?.destroySoon?.());
    }
  }

  private async seenBy(request: DashboardRequest, event: FeedEvent): Promise<StreamEvent> {
    return event.overview
      ? { overview: await visibleOverview(this.permissions, request, event.overview), away: null }
      : event;
  }
}

/** An event of a stream, as EventSource reads it. */
interface ServerEvent {
  id?: string;
  type?: string;
  retry?: number;
  data: string;
}

/** The headers of a stream. Proxies must neither keep it nor gather its events. */
const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'private, no-cache, no-store, must-revalidate, max-age=0, no-transform',
  'X-Accel-Buffering': 'no',
  Vary: 'Accept-Encoding',
};

function streamHeaders(isZipped: boolean): Record<string, string> {
  return { ...STREAM_HEADERS, ...(isZipped && { 'Content-Encoding': 'gzip' }) };
}

/**
 * Writes events as the body of a response, until its reader leaves. Each leaves the compressor at once.
 *
 * @param begin returns the events. It gets a function that says whether the reader has taken the earlier ones
 */
function bodyOf(isZipped: boolean, begin: (isDrained: () => boolean) => Observable<ServerEvent>): Transform {
  const body = isZipped ? createGzip({ flush: constants.Z_SYNC_FLUSH }) : new PassThrough();
  const events = begin(() => !body.writableNeedDrain).subscribe({
    next: (event) => body.write(textOf(event)),
    error: (error: Error) => body.destroy(error),
    complete: () => body.end(),
  });
  body.once('close', () => events.unsubscribe());
  return body;
}

function textOf({ id, type, retry, data }: ServerEvent): string {
  const fields = Object.entries({ id, event: type, retry, data }).filter(([, value]) => value !== undefined);
  return `${fields.map(([name, value]) => `${name}: ${value}\n`).join('')}\n`;
}
