import { Body, Controller, Get, Headers, HttpCode, Param, Post, Sse, StreamableFile } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { z } from 'zod';
import { accepted, type Accepted } from '../http/accepted.js';
import { ZodBody } from '../http/zod-body.pipe.js';
import { Storage } from '../storage/storage.js';

const schema = z.strictObject({ year: z.coerce.number().int().min(2000).max(2100).default(2025) });

@Controller('reports')
export class ReportController {
  constructor(
    private readonly jobs: JobQueueService,
    private readonly storage: Storage,
  ) {}

  @Post()
  @HttpCode(202)
  async make(@Body(new ZodBody(schema)) report: z.infer<typeof schema>): Promise<Accepted> {
    const job = await this.jobs.enqueue('report', report);
    return accepted(job.id, 'reports');
  }

  /** Sends the lines as they are made. A browser that connects again goes on behind the last. */
  @Sse(':id/lines')
  lines(@Param('id') id: string, @Headers('last-event-id') after?: string) {
    return this.jobs.stream('report', id, { after });
  }

  @Get(':id')
  async one(@Param('id') id: string): Promise<StreamableFile> {
    return new StreamableFile(await this.storage.read('reports', `${id}.csv`), { type: 'text/csv' });
  }
}
