import { Module } from '@nestjs/common';
import { JobQueueModule } from 'nest-job-queue';
import { SendEmailHandler } from './send-email.handler.js';

// The article waits for 300 s before it takes a job back, and looks every minute. A worker that lives extends its
// claims here, so the wait may be as short as one wants to watch.
@Module({
  imports: [
    JobQueueModule.forRoot({
      queues: { 'send-email': { visibilityMs: 1_000, concurrency: 1 } },
      maintenance: { everyMs: 500 },
      // A Redis of the example's own keeps nothing on disk, and the audit at boot would warn of that.
      audit: process.env.REDIS_THROWAWAY === 'yes' ? 'off' : 'warn',
    }),
  ],
  providers: [SendEmailHandler],
})
export class AppModule {}
