import { Logger } from '@nestjs/common';
import { JobHandler, type Job } from 'nest-job-queue';
import { logLine } from '../log-line.js';
import { settings } from '../settings.js';
import { Storage } from '../storage/storage.js';
import { Trouble } from '../trouble/trouble.js';
import { drawInvoice, totalCents, type Item } from './invoice.pdf.js';

export interface InvoicePayload {
  customer: string;
  items: Item[];
}

export interface InvoiceResult {
  totalCents: number;
  bytes: number;
}

@JobHandler('invoice', { queue: settings.queue })
export class InvoiceHandler {
  private readonly logger = new Logger(InvoiceHandler.name);

  constructor(
    private readonly storage: Storage,
    private readonly trouble: Trouble,
  ) {}

  handle(job: Job<InvoicePayload>): Promise<InvoiceResult> {
    return this.trouble.around(job, () => this.draw(job));
  }

  private async draw(job: Job<InvoicePayload>): Promise<InvoiceResult> {
    const { customer, items } = job.payload;
    // The date of the order, not of this attempt: an invoice made twice is the same invoice.
    const pdf = await drawInvoice({ number: job.id, date: job.enqueuedAt, customer, items });
    await this.storage.write('invoices', `${job.id}.pdf`, pdf);
    this.logger.log(logLine`${job.id}: for ${customer}, ${pdf.length} bytes`);
    return { totalCents: totalCents(items), bytes: pdf.length };
  }
}
