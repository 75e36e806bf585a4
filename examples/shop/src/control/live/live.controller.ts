import { Controller, Query, Sse, type MessageEvent } from '@nestjs/common';
import { Observable, distinctUntilChanged, exhaustMap, map, mergeMap, timer } from 'rxjs';
import { z } from 'zod';
import { ZodBody } from '../../http/zod-body.pipe.js';
import { History } from './history.js';
import { SnapshotService, type Snapshot } from './snapshot.js';

const EVERY_MS = 500;
/** How long the page waits before it asks again, where the connection is cut. */
const RETRY_MS = 1_000;

const offset = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0);
const offsetsSchema = z.object({ pending: offset, processing: offset, completed: offset, failed: offset });

/** One stream of snapshots for each page that is open: `GET /live?pending=40` shows the list from its 41st row. */
@Controller('live')
export class LiveController {
  constructor(
    private readonly snapshots: SnapshotService,
    private readonly history: History,
  ) {}

  @Sse()
  stream(@Query(new ZodBody(offsetsSchema)) offsets: z.infer<typeof offsetsSchema>): Observable<MessageEvent> {
    let sampledAt = 0;
    return timer(0, EVERY_MS).pipe(
      // A slow answer delays the next question; questions do not pile up.
      exhaustMap(() => this.snapshots.take(offsets)),
      mergeMap((snapshot): { type: string; data: string }[] => {
        const samples = this.history.samples.filter(([at]) => at > sampledAt);
        sampledAt = samples.at(-1)?.[0] ?? sampledAt;
        const events = [{ type: 'snapshot', data: JSON.stringify(snapshot satisfies Snapshot) }];
        if (samples.length > 0) events.push({ type: 'samples', data: JSON.stringify(samples) });
        return events;
      }),
      distinctUntilChanged((a, b) => a.type === b.type && a.data === b.data),
      map((event) => ({ ...event, retry: RETRY_MS }) satisfies MessageEvent),
    );
  }
}
