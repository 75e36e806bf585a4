import { Injectable, type MessageEvent } from '@nestjs/common';
import { defer, distinctUntilChanged, exhaustMap, map, mergeMap, Observable, share, timer } from 'rxjs';
import { History } from './history.js';
import { Moment, SnapshotService, type Offsets } from './snapshot.js';

const EVERY_MS = 250;
/** How long the page waits before it asks again, where the connection is cut. */
const RETRY_MS = 1_000;

interface LiveEvent {
  type: 'snapshot' | 'samples';
  data: string;
}

/** What all pages are told. Redis is asked once for all that watch, and not at all while nobody does. */
@Injectable()
export class LiveFeed {
  /** A slow answer delays the next question; questions do not pile up. */
  private readonly moments: Observable<Moment> = timer(0, EVERY_MS).pipe(
    exhaustMap(() => this.snapshots.look()),
    share(),
  );

  constructor(
    private readonly snapshots: SnapshotService,
    private readonly history: History,
  ) {}

  /** For a page that shows the four lists from these rows on. */
  follow(offsets: Offsets): Observable<MessageEvent> {
    return defer(() => {
      const samples = this.newSamples();
      return this.moments.pipe(
        exhaustMap((moment) => moment.textFor(offsets)),
        mergeMap((data): LiveEvent[] => [{ type: 'snapshot', data }, ...samples()]),
        distinctUntilChanged((a, b) => a.type === b.type && a.data === b.data),
        map((event) => ({ ...event, retry: RETRY_MS })),
      );
    });
  }

  /** Returns a function that gives the samples since it was called last: at first all that there are. */
  private newSamples(): () => LiveEvent[] {
    let sampledAt = 0;
    return () => {
      const samples = this.history.samples.filter(([at]) => at > sampledAt);
      sampledAt = samples.at(-1)?.[0] ?? sampledAt;
      return samples.length === 0 ? [] : [{ type: 'samples', data: JSON.stringify(samples) }];
    };
  }
}
