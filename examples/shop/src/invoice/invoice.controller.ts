import { Body, Controller, Get, HttpCode, Param, Post, StreamableFile } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { z } from 'zod';
import { accepted, type Accepted } from '../http/accepted.js';
import { ZodBody } from '../http/zod-body.pipe.js';
import { Storage } from '../storage/storage.js';

const item = z.strictObject({
  title: z.string().min(1).max(100),
  quantity: z.int().min(1).max(1_000),
  priceCents: z.int().min(0).max(1_000_000),
});

const schema = z.strictObject({
  customer: z.string().min(1).max(100),
  items: z
    .array(item)
    .min(1)
    .max(100)
    .default([{ title: 'Mug', quantity: 1, priceCents: 1_250 }]),
});

@Controller('invoices')
export class InvoiceController {
  constructor(
    private readonly jobs: JobQueueService,
    private readonly storage: Storage,
  ) {}

  @Post()
  @HttpCode(202)
  async make(@Body(new ZodBody(schema)) invoice: z.infer<typeof schema>): Promise<Accepted> {
    const job = await this.jobs.enqueue('invoice', invoice);
    return accepted(job.id, 'invoices');
  }

  @Get(':id')
  async one(@Param('id') id: string): Promise<StreamableFile> {
    return new StreamableFile(await this.storage.read('invoices', `${id}.pdf`), { type: 'application/pdf' });
  }
}
