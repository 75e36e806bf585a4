import { Logger } from '@nestjs/common';
import { JobHandler, NonRetryableError, type Job } from 'nest-job-queue';
import { logLine } from '../log-line.js';
import { settings } from '../settings.js';
import { Trouble } from '../trouble/trouble.js';
import { sign } from './signature.js';

export interface WebhookPayload {
  url: string;
  event: string;
  data: unknown;
  /** The number of deliveries that the receiver refuses, to show retries. */
  failTimes: number;
}

export interface WebhookResult {
  status: number;
}

@JobHandler('webhook', {
  queue: settings.queue,
  maxAttempts: 5,
  timeoutMs: 10_000,
  backoff: { type: 'exponential', delayMs: 250 },
})
export class WebhookHandler {
  private readonly logger = new Logger(WebhookHandler.name);

  constructor(private readonly trouble: Trouble) {}

  handle(job: Job<WebhookPayload>): Promise<WebhookResult> {
    return this.trouble.around(job, () => this.deliver(job));
  }

  private async deliver(job: Job<WebhookPayload>): Promise<WebhookResult> {
    const { url, event, data, failTimes } = job.payload;
    const body = JSON.stringify({ id: job.id, event, data, attempt: job.attempt, failTimes });
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-shop-signature': sign(body) },
      body,
      // Aborted at the timeout, at a shutdown, and when another worker has taken the job over.
      signal: job.signal,
    });
    this.logger.log(logLine`${job.id}: ${event}, attempt ${job.attempt}, answered ${response.status}`);
    if (response.status === 401) {
      throw new NonRetryableError('the receiver does not accept our signature');
    }
    if (!response.ok) {
      throw new Error(`the receiver answered ${response.status}`);
    }
    return { status: response.status };
  }
}
