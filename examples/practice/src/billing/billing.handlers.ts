import { Injectable } from '@nestjs/common';
import { InjectJobQueueService, JobHandler, JobQueueService, type Job } from 'nest-job-queue';
import { Outbox } from '../common/outbox.js';
import { CurrentPractice } from '../common/practice.js';
import type { Treatment } from './billing.service.js';

@JobHandler('invoice', { connection: 'billing' })
export class InvoiceHandler {
  private static next = 1;

  constructor(
    private readonly practice: CurrentPractice,
    @InjectJobQueueService('billing') private readonly jobs: JobQueueService,
  ) {}

  async handle({ id, payload }: Job<Treatment>) {
    const invoice = `${this.practice.get().id}-${InvoiceHandler.next++}`;
    await this.jobs.enqueue('receipt', { ...payload, invoice }, { id: `receipt:${id}` });
    return { invoice };
  }
}

@Injectable()
export class BillingHandlers {
  constructor(private readonly outbox: Outbox) {}

  @JobHandler('receipt', { connection: 'billing' })
  receipt({ payload, metadata }: Job<Treatment & { invoice: string }>) {
    const { owner, invoice, cents } = payload;
    return this.outbox.send({
      by: 'mail',
      from: `${metadata.practice}`,
      to: owner,
      text: `Invoice ${invoice}: ${(cents / 100).toFixed(2)}`,
    });
  }

  @JobHandler('payment', { connection: 'billing' })
  payment({ payload }: Job<{ invoice: string }>) {
    return { paid: payload.invoice };
  }
}
