import { Module } from '@nestjs/common';
import { JobQueueModule } from 'nest-job-queue';
import { SeededHandlers } from './seeded-handlers.js';
import { SEEDS } from './seeded-queues.js';
import { Seeds } from './seeds.js';

/** Queues for the dashboard, on a connection of their own. No line of the log and no health check reports them. */
@Module({
  imports: [JobQueueModule.forRoot({ name: SEEDS, audit: 'off', logFailures: false, shutdownTimeoutMs: 1_000 })],
  providers: [SeededHandlers, Seeds],
  exports: [Seeds],
})
export class SeedsModule {}
