import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { type Job, JobHandler, type PayloadOf } from 'nest-job-queue';
import { SendEmail } from './jobs.js';

// The article has no wait between attempts, but a mail server that is down needs one.
@JobHandler(SendEmail, { backoff: { type: 'exponential', delayMs: 200 } })
export class SendEmailHandler {
  private readonly logger = new Logger(SendEmailHandler.name);

  async handle({ payload, attempt, maxAttempts, signal }: Job<PayloadOf<typeof SendEmail>>) {
    const { to, trouble, times } = payload;
    this.logger.log(`mail to ${to}, attempt ${attempt} of ${maxAttempts}`);
    if (attempt <= times) {
      await this.make(trouble, signal);
    }
    return { sentBy: process.pid };
  }

  private async make(trouble: 'error' | 'crash' | 'slow' | undefined, signal: AbortSignal): Promise<void> {
    if (trouble === 'crash') {
      process.kill(process.pid, 'SIGKILL');
    } else if (trouble === 'error') {
      throw new Error('the mail server does not answer');
    } else if (trouble === 'slow') {
      await sleep(2_500, undefined, { signal }); // longer than the claim lasts, were it not extended
    }
  }
}
