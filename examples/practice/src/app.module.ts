import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { encrypted, JobQueueModule } from 'nest-job-queue';
import { ClsModule, type ClsService } from 'nestjs-cls';
import { AppointmentsModule } from './appointments/appointments.module.js';
import { BillingModule } from './billing/billing.module.js';
import { CommonModule } from './common/common.module.js';
import { RequestContext } from './common/request-context.js';
import { RecordsModule } from './records/records.module.js';

interface Request {
  headers: Record<string, string | undefined>;
}

/** Options of all jobs, on both servers. */
const ofAllJobs = {
  middleware: [RequestContext],
  globalEnhancers: ['interceptors', 'filters'] as const,
};

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true }),
    ClsModule.forRoot({
      global: true,
      middleware: {
        mount: true,
        setup: (cls: ClsService, { headers }: Request) => {
          cls.set('requestId', headers['x-request-id'] ?? randomUUID());
          cls.set('practice', headers['x-practice']);
        },
      },
    }),
    JobQueueModule.forRootAsync({
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({
        ...ofAllJobs,
        redis: config.get<string>('REDIS_URL'),
        prefix: config.get<string>('JOBS_PREFIX'),
        queues: { records: { concurrency: Number(config.get('RECORDS_CONCURRENCY', '4')) } },
        logContext: (job) => `[${job.metadata.requestId} ${job.name}]`,
      }),
    }),
    JobQueueModule.forRootAsync({
      name: 'billing',
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({
        ...ofAllJobs,
        redis: config.get<string>('BILLING_REDIS_URL'),
        prefix: config.get<string>('JOBS_PREFIX'),
        codec: encrypted([{ id: 'first', key: config.getOrThrow<string>('BILLING_KEY') }]),
      }),
    }),
    CommonModule,
    AppointmentsModule,
    RecordsModule,
    BillingModule,
  ],
})
export class AppModule {}
