import { Logger } from '@nestjs/common';
import { JobHandler, type Job } from 'nest-job-queue';
import { logLine } from '../log-line.js';
import { settings } from '../settings.js';
import { Trouble } from '../trouble/trouble.js';
import { Mailer } from './mailer.js';

export interface EmailPayload {
  to: string;
  subject: string;
  text: string;
}

export interface EmailResult {
  messageId: string;
  response: string;
}

@JobHandler('email', { queue: settings.queue })
export class EmailHandler {
  private readonly logger = new Logger(EmailHandler.name);

  constructor(
    private readonly mailer: Mailer,
    private readonly trouble: Trouble,
  ) {}

  handle(job: Job<EmailPayload>): Promise<EmailResult> {
    return this.trouble.around(job, () => this.send(job));
  }

  private async send(job: Job<EmailPayload>): Promise<EmailResult> {
    const { to, subject, text } = job.payload;
    // The same id at every attempt, so that a recipient can recognise a duplicate.
    const sent = await this.mailer.send({ to, subject, text, messageId: `<${job.id}@shop.example>` });
    this.logger.log(logLine`${job.id}: sent "${subject}" to ${to}`);
    return sent;
  }
}
