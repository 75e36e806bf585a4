import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { type OnModuleDestroy } from '@nestjs/common';
import { Job } from 'bullmq';
import { Journal } from './journal.js';

@Processor('mail')
export class MailProcessor extends WorkerHost implements OnModuleDestroy {
  constructor(private readonly journal: Journal) {
    super();
  }

  async process(job: Job): Promise<string> {
    this.journal.note(
      'mails',
      `${job.name} ${JSON.stringify(job.data)} attempt ${job.attemptsMade + 1} of ${job.opts.attempts}`,
    );
    if (job.name === 'kept' || job.data.to === 'flaky-once') throw new Error(`no ${job.name}`);
    return this.send(job);
  }

  private async send(job: Job) {
    return `sent ${job.name}`;
  }

  @OnWorkerEvent('completed')
  onCompleted(job: Job) {
    this.journal.note('mails', `${job.name}: ${job.returnvalue}`);
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job) {
    this.journal.note('mails', `${job.name} failed: ${job.failedReason}`);
  }

  async onModuleDestroy(): Promise<void> {
    if (this.worker) {
      await this.worker.close();
    }
  }
}

@Processor('history')
export class HistoryProcessor extends WorkerHost {
  constructor(private readonly journal: Journal) {
    super();
  }

  async process(job: Job<{ page: string }>): Promise<void> {
    this.journal.note('saves', job.data.page);
    if (job.data.page === 'broken') throw new Error('broken');
  }
}

@Processor('order', { concurrency: 1 })
export class OrderProcessor extends WorkerHost {
  constructor(private readonly journal: Journal) {
    super();
  }

  async process(job: Job<{ subject: string }>): Promise<void> {
    this.journal.note(job.data.subject, job.name);
  }
}
