import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  defineJob,
  InvalidOptionError,
  InvalidPayloadError,
  Job,
  JobHandler,
  JobQueueService,
  type JobDefaults,
  type JobHandlerOptions,
  type PayloadOf,
} from 'nest-job-queue';
import { z } from 'zod';
import { uniqueQueueName } from '../support/redis.js';
import { compileApp, startApp } from './app.js';

function sendEmail(name: string, defaults: JobDefaults = {}) {
  return defineJob(name, {
    payload: z.object({ to: z.string(), at: z.coerce.date<number>() }),
    result: z.object({ year: z.number() }),
    ...defaults,
  });
}

function handlerOf(SendEmail: ReturnType<typeof sendEmail>, options?: JobHandlerOptions) {
  @JobHandler(SendEmail, options)
  class EmailHandler {
    handle(job: Job<PayloadOf<typeof SendEmail>>) {
      return { year: job.payload.at.getUTCFullYear() };
    }
  }
  return EmailHandler;
}

describe('a definition through the module', () => {
  it('binds a class and an enqueue, one by one and many', async () => {
    const SendEmail = sendEmail(uniqueQueueName('email'));
    const app = await startApp({ providers: [handlerOf(SendEmail)] });
    const jobs = app.get(JobQueueService);
    const job = await jobs.enqueue(SendEmail, { to: 'ada', at: 0 });
    expect(job).toMatchObject({ name: SendEmail.name, queue: SendEmail.name, outcome: 'new' });
    expect(await job.result()).toEqual({ year: 1970 });
    const many = await jobs.enqueueMany(SendEmail, [{ payload: { to: 'bob', at: 0 }, id: 'mine' }]);
    expect(many[0]!.id).toBe('mine');
    expect(await many[0]!.result()).toEqual({ year: 1970 });
  });

  it('binds a method', async () => {
    const Greet = defineJob(uniqueQueueName('greet'), { payload: z.string() });
    @Injectable()
    class Handlers {
      @JobHandler(Greet)
      greet(job: Job<string>) {
        return `hello ${job.payload}`;
      }
    }
    const app = await startApp({ providers: [Handlers] });
    expect(await (await app.get(JobQueueService).enqueue(Greet, 'ada')).result()).toBe('hello ada');
  });

  it('a bad payload is refused at enqueue, and a bad stored one is a dead letter with the same words', async () => {
    const SendEmail = sendEmail(uniqueQueueName('email'));
    const app = await startApp({ providers: [handlerOf(SendEmail)] });
    const jobs = app.get(JobQueueService);
    const refused = await jobs.enqueue(SendEmail, { to: 5, at: 0 } as never).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(InvalidPayloadError);
    expect(refused).toMatchObject({ message: 'payload.to: expected string, found 5.' });
    expect((await jobs.stats(SendEmail.name)).totals).toEqual({});
    const stored = await jobs.enqueue(SendEmail.name, { to: 5, at: 0 });
    await expect(stored.result()).rejects.toMatchObject({
      reason: 'payload.to: expected string, found 5.',
      attempts: 1,
    });
  });

  it('goes to the queue of the definition, also where nobody handles it here', async () => {
    const queue = uniqueQueueName('mail');
    const SendEmail = sendEmail(uniqueQueueName('email'), { queue });
    const producer = (await startApp({})).get(JobQueueService);
    const job = await producer.enqueue(SendEmail, { to: 'ada', at: 0 });
    expect(job).toMatchObject({ queue, name: SendEmail.name });
    await startApp({ providers: [handlerOf(SendEmail)] });
    expect(await job.result()).toEqual({ year: 1970 });
    const elsewhere = uniqueQueueName('elsewhere');
    const other = await producer.enqueue(SendEmail, { to: 'ada', at: 0 }, { queue: elsewhere, delayMs: 60_000 });
    expect(other.queue).toBe(elsewhere);
    expect(await producer.cancel(elsewhere, other.id)).toBe('cancelled');
  });

  it('sets its defaults over those of the handler', async () => {
    const SendEmail = sendEmail(uniqueQueueName('email'), { maxAttempts: 1 });
    @JobHandler(SendEmail, { maxAttempts: 9 })
    class Failing {
      handle(_job: Job): never {
        throw new Error('no');
      }
    }
    const app = await startApp({ providers: [Failing] });
    const job = await app.get(JobQueueService).enqueue(SendEmail.name, { to: 'ada', at: 0 });
    await expect(job.result()).rejects.toMatchObject({ attempts: 1 });
  });

  it('does not boot where the handler serves another queue than the definition feeds', async () => {
    const SendEmail = sendEmail('email', { queue: 'mail' });
    const app = await compileApp({ providers: [handlerOf(SendEmail, { queue: 'jobs' })] });
    const error = await app.init().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect((error as Error).message).toBe(
      '@JobHandler("email") on EmailHandler.handle.queue: expected that of the definition, "mail", found "jobs".',
    );
  });
});
