import { Logger } from '@nestjs/common';
import { JobHandler, type Job } from 'nest-job-queue';
import sharp from 'sharp';
import { Storage } from '../storage/storage.js';
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

@JobHandler('thumbnail', { queue: 'jobs' })
export class ThumbnailHandler {
  private readonly logger = new Logger(ThumbnailHandler.name);

  constructor(private readonly storage: Storage) {}

  async handle(job: Job<ThumbnailPayload>): Promise<ThumbnailResult> {
    const { product, width } = job.payload;
    const photo = await takePhoto(product);
    const { data, info } = await sharp(photo).resize({ width }).webp().toBuffer({ resolveWithObject: true });
    await this.storage.write('thumbnails', `${job.id}.webp`, data);
    this.logger.log(`${job.id}: ${product}, ${info.width} × ${info.height}`);
    return { width: info.width, height: info.height, bytes: data.length };
  }
}
