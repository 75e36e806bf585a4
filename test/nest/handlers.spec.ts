import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Job, JobHandler, JobQueueService } from 'nest-job-queue';
import { uniqueQueueName } from '../support/redis.js';
import { startApp } from './app.js';

const name = uniqueQueueName('email');
const small = uniqueQueueName('small');
const other = uniqueQueueName('other');

@Injectable()
class Mailer {
  send(to: string) {
    return `sent to ${to}`;
  }
}

@JobHandler(name)
class EmailHandler {
  constructor(private readonly mailer: Mailer) {}

  handle(job: Job<{ to: string }>) {
    return { text: this.mailer.send(job.payload.to), attempt: job.attempt };
  }
}

@Injectable()
class SmallHandlers {
  private readonly greeting = 'hello';

  @JobHandler(small)
  greet(job: Job<string>) {
    return `${this.greeting} ${job.payload}`;
  }

  @JobHandler(other)
  count(job: Job<number[]>) {
    return job.payload.length;
  }
}

describe('a handler', () => {
  it('is a class with handle, and gets its dependencies', async () => {
    const app = await startApp({ providers: [Mailer, EmailHandler] });
    const job = await app.get(JobQueueService).enqueue(name, { to: 'ada' });
    expect(job.queue).toBe(name);
    expect(await job.result()).toEqual({ text: 'sent to ada', attempt: 1 });
  });

  it('is a method, several in one provider', async () => {
    const app = await startApp({ providers: [SmallHandlers] });
    const jobs = app.get(JobQueueService);
    expect(await (await jobs.enqueue(small, 'ada')).result()).toBe('hello ada');
    expect(await (await jobs.enqueue(other, [1, 2])).result()).toBe(2);
  });
});
