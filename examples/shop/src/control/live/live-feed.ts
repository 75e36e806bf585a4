import { Injectable, type MessageEvent } from '@nestjs/common';
import { defer, exhaustMap, filter, map, mergeMap, share, timer, type Observable } from 'rxjs';
import { Story } from '../story/story.js';
import { History } from './history.js';
import type { Offsets } from './pages.js';
import { SnapshotService, type Moment } from './snapshot.js';

const EVERY_MS = 250;
/** The time the page waits after a cut connection, in ms. */
const RETRY_MS = 1_000;

interface LiveEvent {
  type: 'snapshot' | 'story' | 'samples';
  data: string;
}

/** Feeds all pages. It reads Redis once for all viewers, and never without a viewer. */
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
    private readonly story: Story,
  ) {}

  /** Sends changes to a page that shows the four lists from these rows on. */
  follow(offsets: Offsets): Observable<MessageEvent> {
    return defer(() => {
      const samples = this.newSamples();
      const told = new Map<string, string>();
      return this.moments.pipe(
        exhaustMap((moment) => moment.textFor(offsets)),
        mergeMap((data): LiveEvent[] => [
          { type: 'snapshot', data },
          { type: 'story', data: this.story.text },
          ...samples(),
        ]),
        filter(({ type, data }) => {
          const isNew = told.get(type) !== data;
          told.set(type, data);
          return isNew;
        }),
        map((event) => ({ ...event, retry: RETRY_MS })),
      );
    });
  }

  /** Returns a function that returns the samples since its last call, at first all of them. */
  private newSamples(): () => LiveEvent[] {
    let sampledAt = 0;
    return () => {
      const samples = this.history.samples.filter(([at]) => at > sampledAt);
      sampledAt = samples.at(-1)?.[0] ?? sampledAt;
      return samples.length === 0 ? [] : [{ type: 'samples', data: JSON.stringify(samples) }];
    };
  }
}
