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
import { uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, KeptLog, startApp } from '../app.js';

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

  it('warns once where handler and producers use two definitions of one name', async () => {
    const [SendEmail, log] = [sendEmail(uniqueQueueName('email')), new KeptLog()];
    const other = defineJob(SendEmail.name, { payload: z.object({ to: z.string(), at: z.number() }) });
    const app = await startApp({ providers: [handlerOf(SendEmail)], log });
    const jobs = app.get(JobQueueService);
    await jobs.enqueue(SendEmail, { to: 'ada', at: 0 });
    expect(log.lines.filter((line) => line.startsWith('warn Two'))).toEqual([]);
    await jobs.enqueue(other, { to: 'ada', at: 0 });
    await jobs.schedules.upsert(other, 'daily', { everyMs: 60_000 }, { payload: { to: 'ada', at: 0 } });
    expect(log.lines.filter((line) => line.startsWith('warn Two'))).toEqual([
      `warn Two definitions of the jobs "${SendEmail.name}" are in use in queue "${SendEmail.name}", by @JobHandler("${SendEmail.name}") ` +
        'on EmailHandler.handle and by a call that gives a payload. They differ in the payload schema, the result schema. ' +
        'Define the jobs once, and import that definition in both places.',
    ]);
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
    expect((await jobs.queue(SendEmail.name).stats()).totals).toEqual({});
    const stored = await jobs.enqueue(SendEmail.name, { to: 5, at: 0 });
    await expect(stored.result()).rejects.toMatchObject({
      reason: 'payload.to: expected string, found 5.',
      attempts: 1,
    });
  });

  it('goes to the queue of the definition, also without a handler here', async () => {
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

  it('is taken wherever a name is: get, result, cancel, clean, stats, pause and resume find its queue', async () => {
    const queue = uniqueQueueName('mail');
    const SendEmail = sendEmail(uniqueQueueName('email'), { queue });
    const producer = (await startApp({})).get(JobQueueService);
    const waiting = await producer.enqueue(SendEmail, { to: 'ada', at: 0 });
    expect(await producer.queue(SendEmail).stats()).toMatchObject({ pending: 1 });
    expect(await producer.cancel(SendEmail, waiting.id)).toBe('cancelled');
    expect((await producer.get(SendEmail, waiting.id))!.payload.to).toBe('ada');
    expect(await producer.queue(SendEmail).clean('cancelled')).toBe(1);
    expect(await producer.pause(SendEmail)).toBe(true);
    expect(await producer.resume(SendEmail)).toBe(true);
    const { id } = await producer.enqueue(SendEmail, { to: 'ada', at: 0 });
    await startApp({ providers: [handlerOf(SendEmail)] });
    const { year } = await producer.result(SendEmail, id);
    expect(year).toBe(1970);
  });

  it('reads the result of an id by its schema, as the handle of the enqueue does', async () => {
    const Born = defineJob(uniqueQueueName('born'), {
      payload: z.null(),
      result: z.object({ at: z.coerce.date<Date | string>() }),
    });
    @JobHandler(Born)
    class BornHandler {
      handle(_job: Job<null>) {
        return { at: new Date(0) };
      }
    }
    const jobs = (await startApp({ providers: [BornHandler] })).get(JobQueueService);
    const job = await jobs.enqueue(Born, null);
    expect((await job.result()).at).toEqual(new Date(0));
    expect((await jobs.result(Born, job.id)).at).toEqual(new Date(0));
    expect(await jobs.result(Born.name, job.id)).toEqual({ at: '1970-01-01T00:00:00.000Z' });
  });

  it('checks an edited payload when a dead letter is redriven', async () => {
    const SendEmail = sendEmail(uniqueQueueName('email'));
    const jobs = (await startApp({ providers: [handlerOf(SendEmail)] })).get(JobQueueService);
    const stored = await jobs.enqueue(SendEmail.name, { to: 5, at: 0 });
    await expect(stored.result()).rejects.toThrow();
    const redrive = (payload: unknown) => jobs.queue(SendEmail.name).deadLetters.redrive(stored.id, { payload });
    await expect(redrive({ to: 6, at: 0 })).rejects.toThrow(
      new InvalidPayloadError('payload.to', 'string', '6').message,
    );
    expect(await stored.get()).toMatchObject({ status: 'failed', payload: { to: 5, at: 0 } });
    expect(await redrive({ to: 'ada', at: 0 })).toBe(true);
    expect(await stored.result()).toEqual({ year: 1970 });
  });

  it('checks it also in a process that has only the definition, for the jobs of its name', async () => {
    const queue = uniqueQueueName('mail');
    const SendEmail = sendEmail(uniqueQueueName('email'), { queue });
    const jobs = (await startApp({})).get(JobQueueService);
    for (const [id, name] of [
      ['mine', SendEmail.name],
      ['other', 'print'],
    ] as const) {
      await jobs.enqueue(name, {}, { queue, id });
      const claim = (await jobs.queue(queue).claim())!;
      await jobs.queue(queue).fail(claim, new Error('no'), { final: true });
    }
    const letters = jobs.queue(SendEmail).deadLetters;
    const edit = letters.redrive(SendEmail, 'mine', { payload: { to: 'ada' } as never });
    await expect(edit).rejects.toThrow(InvalidPayloadError);
    expect(await letters.redrive('other', { payload: 'anything' })).toBe(true);
    expect(await letters.redrive('mine')).toBe(true);
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
