import { Controller, Query, Sse, type MessageEvent } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { z } from 'zod';
import { ZodBody } from '../../http/zod-body.pipe.js';
import { LiveFeed } from './live-feed.js';

const offset = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0);
const offsetsSchema = z.object({ pending: offset, processing: offset, completed: offset, failed: offset });

/** A stream of snapshots for each open page: `GET /live?pending=40` shows the list from its 41st row. */
@Controller('live')
export class LiveController {
  constructor(private readonly feed: LiveFeed) {}

  @Sse()
  stream(@Query(new ZodBody(offsetsSchema)) offsets: z.infer<typeof offsetsSchema>): Observable<MessageEvent> {
    return this.feed.follow(offsets);
  }
}
