import { Logger } from '@nestjs/common';
import { JobHandler, type Job } from 'nest-job-queue';
import sharp from 'sharp';
import { logLine } from '../log-line.js';
import { settings } from '../settings.js';
import { Storage } from '../storage/storage.js';
import { Trouble } from '../trouble/trouble.js';
import { takePhoto, type Product } from './photo.js';

export interface ThumbnailPayload {
  product: Product;
  width: number;
}

export interface ThumbnailResult {
  width: number;
  height: number;
  bytes: number;
}

@JobHandler('thumbnail', { queue: settings.queue })
export class ThumbnailHandler {
  private readonly logger = new Logger(ThumbnailHandler.name);

  constructor(
    private readonly storage: Storage,
    private readonly trouble: Trouble,
  ) {}

  handle(job: Job<ThumbnailPayload>): Promise<ThumbnailResult> {
    return this.trouble.around(job, () => this.scale(job));
  }

  private async scale(job: Job<ThumbnailPayload>): Promise<ThumbnailResult> {
    const { product, width } = job.payload;
    const photo = await takePhoto(product);
    const { data, info } = await sharp(photo).resize({ width }).webp().toBuffer({ resolveWithObject: true });
    await this.storage.write('thumbnails', `${job.id}.webp`, data);
    this.logger.log(logLine`${job.id}: ${product}, ${info.width} × ${info.height}`);
    return { width: info.width, height: info.height, bytes: data.length };
  }
}
