import { Module } from '@nestjs/common';
import { JobsController } from './jobs.controller.js';
import { QueueAccess } from './queue-access.js';

@Module({ controllers: [JobsController], providers: [QueueAccess], exports: [QueueAccess] })
export class JobsModule {}
