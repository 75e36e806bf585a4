import { Body, Controller, Get, HttpCode, NotFoundException, Param, Post, StreamableFile } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { z } from 'zod';
import { accepted, type Accepted } from '../http/accepted.js';
import { ZodBody } from '../http/zod-body.pipe.js';
import { Storage } from '../storage/storage.js';
import { PRODUCTS, takePhoto } from './photo.js';

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

  /** Returns the photo that thumbnails of a product are made from. */
  @Get('original/:product')
  async original(@Param('product') name: string): Promise<StreamableFile> {
    const product = PRODUCTS.find((each) => each === name);
    if (!product) throw new NotFoundException(`No product ${name}.`);
    return new StreamableFile(await takePhoto(product), { type: 'image/jpeg' });
  }

  @Get(':id')
  async one(@Param('id') id: string): Promise<StreamableFile> {
    return new StreamableFile(await this.storage.read('thumbnails', `${id}.webp`), { type: 'image/webp' });
  }
}
