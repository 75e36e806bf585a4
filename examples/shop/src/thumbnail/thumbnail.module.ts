import { Module } from '@nestjs/common';
import { ThumbnailController } from './thumbnail.controller.js';
import { ThumbnailHandler } from './thumbnail.handler.js';

@Module({ controllers: [ThumbnailController], providers: [ThumbnailHandler] })
export class ThumbnailModule {}
