import { Get, Req, Res, Sse, type MessageEvent, Injectable } from '@nestjs/common';
import { finalize, map, merge, of, takeUntil, timer, type Observable } from 'rxjs';
import { Responder } from './responder.js';
import { overallVerdict } from '../live/verdict-view.js';
import type { OverviewView, StreamEvent } from '../views/views.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { Permissions } from '../security/permissions.js';
import { SnapshotFeed } from '../live/snapshot-feed.js';

/** The duration of a stream, in ms. The browser reopens it, and the guards decide again. */
const LONGEST_MS = 600_000;
/** The time before the browser reopens a stream, in ms. */
const RETRY_MS = 1_000;

/** The state of all queues, once and as one stream that all viewers share. */
@Injectable()
export class LiveController {
  constructor(
    private readonly feed: SnapshotFeed,
    private readonly responder: Responder,
    private readonly permissions: Permissions,
  ) {}

  @Get('api/overview')
  async overview(@Req() request: DashboardRequest, @Res() response: unknown): Promise<void> {
    await this.responder.json(response, async () => {
      await this.permissions.require('view', request);
      const event = await this.feed.current();
      return this.seenBy(request, event);
    });
  }

  @Sse('api/stream')
  async stream(@Req() request: DashboardRequest): Promise<Observable<MessageEvent>> {
    await this.permissions.require('view', request);
    const hidden = await this.hiddenFrom(request);
    const events = this.feed.watch().pipe(map((event) => ({ data: withoutQueues(event, hidden) })));
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
    return withoutQueues(event, await this.hiddenFrom(request));
  }

  /** Returns the queues that the request may not see. */
  private async hiddenFrom(request: DashboardRequest): Promise<ReadonlySet<string>> {
    const { overview } = await this.feed.current();
    const names = overview ? [...overview.queues, ...overview.unreadable].map(({ name }) => name) : [];
    const seen = await Promise.all(names.map((queue) => this.permissions.allows('view', request, { queue })));
    return new Set(names.filter((_, i) => !seen[i]));
  }
}

function withoutQueues(event: StreamEvent, hidden: ReadonlySet<string>): StreamEvent {
  if (!event.overview || hidden.size === 0) {
    return event;
  }
  const { at, server, workers, runs } = event.overview;
  const queues = event.overview.queues.filter(({ name }) => !hidden.has(name));
  const unreadable = event.overview.unreadable.filter(({ name }) => !hidden.has(name));
  const overview: OverviewView = {
    at,
    server,
    sentence: overallVerdict(server, [...queues, ...unreadable]),
    queues,
    unreadable,
    workers: workers.map((worker) => ({
      ...worker,
      queues: worker.queues.filter((name) => !hidden.has(name)),
      running: worker.running.filter(({ queue }) => !hidden.has(queue)),
      prefetched: worker.prefetched.filter(({ queue }) => !hidden.has(queue)),
      stuck: worker.stuck.filter(({ queue }) => !hidden.has(queue)),
    })),
    runs: runs.filter(({ queue }) => !hidden.has(queue)),
  };
  return { overview, away: null };
}
