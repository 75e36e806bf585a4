import { Module } from '@nestjs/common';
import { JobQueueModule } from 'nest-job-queue';
import { JobQueueDashboardModule, LinkGuard } from 'nest-job-queue/dashboard';
import { IncidentHandlers } from './incident-handlers.js';
import { IncidentTraffic } from './incident-traffic.js';

/** An app in trouble, and its dashboard. */
@Module({
  imports: [
    JobQueueModule.forRoot({ audit: 'off', logFailures: false, shutdownTimeoutMs: 1_000 }),
    JobQueueDashboardModule.forRoot({ path: 'queues', guards: [LinkGuard], title: 'The incident' }),
  ],
  providers: [IncidentHandlers, IncidentTraffic],
})
export class IncidentModule {}
