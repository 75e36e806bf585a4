import { Injectable, Logger } from '@nestjs/common';
import { JobQueueService, redisClientOf } from 'nest-job-queue';
import type { EmailPayload } from './email/email.handler.js';
import type { InvoicePayload } from './invoice/invoice.handler.js';
import type { ReportPayload } from './report/report.handler.js';
import { settings } from './settings.js';
import type { ThumbnailPayload } from './thumbnail/thumbnail.handler.js';
import type { WebhookPayload } from './webhook/webhook.handler.js';

/** Enqueues a job of each kind, so that there is something to look at. */
@Injectable()
export class FirstJobs {
  private readonly logger = new Logger(FirstJobs.name);

  constructor(private readonly jobs: JobQueueService) {}

  /** Waits for Redis if it is away, while the shop already serves. */
  async enqueue(url: string): Promise<void> {
    const client = settings.inMemory ? undefined : redisClientOf(this.jobs.queue(settings.queue));
    try {
      if (client && client.status !== 'ready') {
        this.logger.warn('Redis is away: the first jobs are enqueued when it is there.');
        await new Promise<void>((resolve) => void client.once('ready', resolve));
      }
      await this.enqueueAll(url);
    } catch (error) {
      // The shop is of use without them.
      this.logger.error(`The first jobs: ${(error as Error).message}`);
    }
  }

  private async enqueueAll(url: string): Promise<void> {
    const email: EmailPayload = { to: 'ada@example.com', subject: 'Welcome', text: 'The shop is open.' };
    const webhook: WebhookPayload = {
      url: `${url}/webhooks/receiver`,
      event: 'shop.opened',
      data: { by: 'ada' },
      failTimes: 0,
    };
    const thumbnail: ThumbnailPayload = { product: 'mug', width: 200 };
    const invoice: InvoicePayload = {
      customer: 'Ada Lovelace',
      items: [{ title: 'Mug', quantity: 2, priceCents: 1_250 }],
    };
    const report: ReportPayload = { year: 2025 };
    await Promise.all([
      this.jobs.enqueue('email', email),
      this.jobs.enqueue('webhook', webhook),
      this.jobs.enqueue('thumbnail', thumbnail),
      this.jobs.enqueue('invoice', invoice),
      this.jobs.enqueue('report', report),
    ]);
  }
}
