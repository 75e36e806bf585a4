import { Module } from '@nestjs/common';
import { JobQueueModule } from 'nest-job-queue';
import { EmailModule } from './email/email.module.js';
import { HealthModule } from './health/health.module.js';
import { InvoiceModule } from './invoice/invoice.module.js';
import { JobsModule } from './jobs/jobs.module.js';
import { OtherModule } from './other/other.module.js';
import { ReportModule } from './report/report.module.js';
import { settings } from './settings.js';
import { StorageModule } from './storage/storage.module.js';
import { ThumbnailModule } from './thumbnail/thumbnail.module.js';
import { TroubleModule } from './trouble/trouble.module.js';
import { WebhookModule } from './webhook/webhook.module.js';

@Module({
  imports: [
    // Redis: REDIS_URL, or localhost:6379.
    JobQueueModule.forRoot({
      worker: settings.works,
      // As in the Redis pattern, whose demo the shop's page reproduces.
      maxAttempts: 3,
      backoff: 0,
      queues: { [settings.queue]: { visibilityMs: settings.visibilityMs, concurrency: settings.concurrency } },
      maintenance: settings.reclaimMs > 0 && { everyMs: settings.reclaimMs },
      shutdownTimeoutMs: 5_000,
      audit: settings.audit,
      outcomes: {}, // so that a job whose record has gone can still be asked for
    }),
    StorageModule,
    TroubleModule,
    EmailModule,
    WebhookModule,
    ThumbnailModule,
    InvoiceModule,
    ReportModule,
    OtherModule,
    JobsModule,
    HealthModule,
  ],
})
export class AppModule {}
