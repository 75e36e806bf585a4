// The code that the page shows after a story: all that an app needs for it.
import { Injectable, Module } from '@nestjs/common';
import { JobHandler, JobQueueModule, JobQueueService, type Job } from 'nest-job-queue';
import { runWorkers } from 'nest-job-queue/workers';
import { Mailer } from './email/mailer.js';

interface Mail {
  to: string;
  subject: string;
  text: string;
}

// prettier-ignore
@JobHandler('email', { maxAttempts: 3 })
export class EmailHandler {
  constructor(private readonly mailer: Mailer) {}
  handle({ id, payload }: Job<Mail>) {
    return this.mailer.send({ ...payload, messageId: `<${id}@shop.example>` });
  }
}

@Injectable()
export class SignUp {
  constructor(private readonly jobs: JobQueueService) {}

  async welcome(to: string): Promise<void> {
    await this.jobs.enqueue('email', { to, subject: 'Welcome', text: 'The shop is open.' });
  }
}

// prettier-ignore
@Module({ imports: [JobQueueModule.forRoot()], providers: [Mailer, EmailHandler, SignUp] })
export class AppModule {}

export async function main(): Promise<void> {
  await runWorkers(AppModule, { processes: 3 });
}
