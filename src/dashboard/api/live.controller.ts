import { Injectable, Logger, type MessageEvent } from '@nestjs/common';
import {
  catchError,
  EMPTY,
  exhaustMap,
  finalize,
  map,
  merge,
  of,
  takeUntil,
  takeWhile,
  timer,
  type Observable,
} from 'rxjs';
import { z } from 'zod';
import { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { StreamEvent } from '../views/stream-views.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { Permissions } from '../security/permissions.js';
import { SnapshotFeed } from '../live/snapshot-feed.js';
import { visibleOverview } from '../live/visible-overview.js';
import { Reads, Routes, Streams } from './route.js';
import type { Call } from './route-runner.js';

/** The duration of a stream, in ms. The browser reopens it, so that the app's guards decide again about a viewer. */
const LONGEST_MS = 4_000;
/** The time before the browser reopens a stream, in ms. */
const RETRY_MS = 100;

/** The state of all queues, once and as one stream that all viewers share. */
@Injectable()
export class LiveController extends Routes {
  private readonly logger = SafeLogger.of(new Logger('JobQueueDashboard'));

  constructor(
    private readonly feed: SnapshotFeed,
    private readonly permissions: Permissions,
  ) {
    super();
  }

  @Reads('api/overview', z.object({}))
  async overview(_query: object, { request }: Call): Promise<StreamEvent> {
    return this.seenBy(request, await this.feed.current());
  }

  @Streams('api/stream')
  stream(request: DashboardRequest): Observable<MessageEvent> {
    const events = this.feed.watch().pipe(
      exhaustMap(async (event) => ({
        isAllowed: await this.permissions.allows('view', request),
        data: await this.seenBy(request, event),
      })),
      takeWhile(({ isAllowed }) => isAllowed),
      map(({ data }) => ({ data })),
      catchError((error: unknown) => {
        this.logger.error('The dashboard failed to decide what a viewer may see', error);
        return EMPTY;
      }),
    );
    return merge(of({ type: 'hello', retry: RETRY_MS, data: '' }), events).pipe(
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

  private async seenBy(request: DashboardRequest, event: StreamEvent): Promise<StreamEvent> {
    return event.overview
      ? { overview: await visibleOverview(this.permissions, request, event.overview), away: null }
      : event;
  }
}
