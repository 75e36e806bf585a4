import { Body, Controller, Get, HttpCode, Param, Post, StreamableFile } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { z } from 'zod';
import { accepted, type Accepted } from '../http/accepted.js';
import { ZodBody } from '../http/zod-body.pipe.js';
import { Storage } from '../storage/storage.js';
import { PRODUCTS } from './photo.js';

const schema = z.strictObject({
  product: z.enum(PRODUCTS).default('mug'),
  width: z.coerce.number().int().min(16).max(1_600).default(200),
});

@Controller('thumbnails')
export class ThumbnailController {
  constructor(
    private readonly jobs: JobQueueService,
    private readonly storage: Storage,
  ) {}

  @Post()
  @HttpCode(202)
  async make(@Body(new ZodBody(schema)) thumbnail: z.infer<typeof schema>): Promise<Accepted> {
    const job = await this.jobs.enqueue('thumbnail', thumbnail);
    return accepted(job.id, 'thumbnails');
  }

  @Get(':id')
  async one(@Param('id') id: string): Promise<StreamableFile> {
    return new StreamableFile(await this.storage.read('thumbnails', `${id}.webp`), { type: 'image/webp' });
  }
}
