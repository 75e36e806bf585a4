import { Module } from '@nestjs/common';
import { JobQueueModule } from 'nest-job-queue';
import { BillingController } from './billing.controller.js';
import { BillingHandlers, InvoiceHandler } from './billing.handlers.js';
import { BillingService } from './billing.service.js';

@Module({
  imports: [JobQueueModule.forFeature({ connection: 'billing', queues: ['invoice'] })],
  controllers: [BillingController],
  providers: [BillingService, InvoiceHandler, BillingHandlers],
})
export class BillingModule {}
