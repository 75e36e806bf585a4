import { Body, Controller, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import type { Request } from 'express';
import { JobQueueService } from 'nest-job-queue';
import { z } from 'zod';
import { accepted, type Accepted } from '../http/accepted.js';
import { ownUrl } from '../http/own-url.js';
import { ZodBody } from '../http/zod-body.pipe.js';
import { Storage } from '../storage/storage.js';

const schema = z.strictObject({
  event: z
    .string()
    .regex(/^[a-z.]{1,50}$/)
    .default('order.paid'),
  data: z.unknown().default({}),
  failTimes: z.coerce.number().int().min(0).max(10).default(0),
});

@Controller('webhooks')
export class WebhookController {
  constructor(
    private readonly jobs: JobQueueService,
    private readonly storage: Storage,
  ) {}

  @Post()
  @HttpCode(202)
  async send(
    @Body(new ZodBody(schema)) webhook: z.infer<typeof schema>,
    @Req() request: Request,
  ): Promise<Accepted> {
    const url = `${ownUrl(request)}/webhooks/receiver`;
    const job = await this.jobs.enqueue('webhook', { url, ...webhook });
    return accepted(job.id, 'webhooks');
  }

  /** Returns a received body. Those without the shop's signature were refused. */
  @Get(':id')
  async one(@Param('id') id: string): Promise<unknown> {
    return JSON.parse((await this.storage.read('webhooks', `${id}.json`)).toString());
  }
}
