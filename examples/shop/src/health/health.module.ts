import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { HealthController } from './health.controller.js';

@Module({ imports: [TerminusModule], controllers: [HealthController], providers: [JobQueueHealthIndicator] })
export class HealthModule {}
