import { Controller, Get, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { z } from 'zod';
import { ZodBody } from '../http/zod-body.pipe.js';
import { QueueAccess } from '../jobs/queue-access.js';
import { jobSummary } from './pattern-views.js';

/** The most rows of a list in one response. */
const PAGE = 1_000;
/** The number of ended jobs of each kind without a page, as in the pattern's demo. */
const ENDED = 10;

const pageSchema = z.object({
  offset: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  limit: z.coerce.number().int().min(1).max(PAGE).default(PAGE),
});

/**
 * Lists jobs like the demo server of the Redis pattern, which has no pages. Here a script can continue where a response
 * ends.
 */
@Controller('jobs')
export class ListingController {
  constructor(private readonly queue: QueueAccess) {}

  /**
   * Returns one page of waiting and running jobs and the last ten ended jobs, as the demo. With `offset` it returns
   * the rows of each list from there on. If a list continues, the header `Link` names the next page.
   */
  @Get()
  async jobs(
    @Query(new ZodBody(pageSchema)) { offset: wanted, limit }: z.infer<typeof pageSchema>,
    @Res({ passthrough: true }) response: Response,
  ) {
    const offset = wanted ?? 0;
    const ended = wanted === undefined ? ENDED : limit;
    const counted = await this.queue.stats();
    const [pending, processing, completed, failed] = await Promise.all([
      this.queue.waiting(offset, limit, counted),
      this.queue.list('processing', offset, limit),
      this.queue.list('completed', offset, ended),
      this.queue.list('failed', offset, ended),
    ]);
    const unended = Math.max(counted.pending + counted.scheduled, counted.processing);
    const longest = wanted === undefined ? unended : Math.max(unended, counted.completed, counted.failed);
    const next = offset + limit;
    if (longest > next) response.setHeader('Link', `</jobs?offset=${next}&limit=${limit}>; rel="next"`);
    return {
      pending: pending.map(jobSummary),
      processing: processing.map(jobSummary),
      completed: completed.map(jobSummary),
      failed: failed.map(jobSummary),
    };
  }
}
