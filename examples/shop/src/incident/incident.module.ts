import { Module } from '@nestjs/common';
import { JobQueueModule } from 'nest-job-queue';
import { JobQueueDashboardModule, LinkGuard } from 'nest-job-queue/dashboard';
import { fromLibsql, JobOutboxModule } from 'nest-job-queue/outbox';
import { ImageProcesses } from './image-processes.js';
import { VERSION } from './incident-backlog.js';
import { IncidentDatabase } from './incident-database.js';
import { IncidentHandlers } from './incident-handlers.js';
import { IncidentTraffic } from './incident-traffic.js';

@Module({ providers: [IncidentDatabase], exports: [IncidentDatabase] })
class DatabaseModule {}

/** An app in trouble, and its dashboard. */
@Module({
  imports: [
    DatabaseModule,
    JobQueueModule.forRoot({ audit: 'off', logFailures: false, shutdownTimeoutMs: 1_000, version: VERSION }),
    JobOutboxModule.forRootAsync({
      imports: [DatabaseModule],
      inject: [IncidentDatabase],
      useFactory: async (database: IncidentDatabase) => ({
        database: fromLibsql(await database.open()),
        relay: false,
      }),
    }),
    JobQueueDashboardModule.forRoot({ path: 'queues', guards: [LinkGuard], title: 'The incident' }),
  ],
  providers: [IncidentHandlers, IncidentTraffic, ImageProcesses],
})
export class IncidentModule {}
