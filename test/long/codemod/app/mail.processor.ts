import { Processor, WorkerHost } from '@nestjs/bullmq';
import { DelayedError, Job } from 'bullmq';
import { Journal } from './journal.js';
import { Queues } from './queues.js';

@Processor(Queues.Mail, { concurrency: 1 })
export class MailProcessor extends WorkerHost {
  private readonly waited = new Set<string>();

  constructor(private readonly journal: Journal) {
    super();
  }

  async process(job: Job<{ to: string }>, token?: string): Promise<void> {
    if (job.data.to === 'later' && !this.waited.has(job.data.to)) {
      this.waited.add(job.data.to);
      this.journal.note('mail to later waits');
      await job.moveToDelayed(Date.now() + 100, token);
      throw new DelayedError();
    }
    this.journal.note(`${job.name} to ${job.data.to}`);
  }
}
