import type { JobQueueService } from 'nest-job-queue';
import type { EmailPayload } from './email/email.handler.js';
import type { InvoicePayload } from './invoice/invoice.handler.js';
import type { ReportPayload } from './report/report.handler.js';
import type { ThumbnailPayload } from './thumbnail/thumbnail.handler.js';
import type { WebhookPayload } from './webhook/webhook.handler.js';

/** One job of each kind, so that there is something to look at. */
export async function enqueueFirstJobs(jobs: JobQueueService, url: string): Promise<void> {
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
    jobs.enqueue('email', email),
    jobs.enqueue('webhook', webhook),
    jobs.enqueue('thumbnail', thumbnail),
    jobs.enqueue('invoice', invoice),
    jobs.enqueue('report', report),
  ]);
}
