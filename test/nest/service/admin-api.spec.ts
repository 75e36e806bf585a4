import { describe, expect, it } from '@jest/globals';
import { awaitAll, defineJob, InvalidOptionError, Job, JobHandler, JobQueueService } from 'nest-job-queue';
import { z } from 'zod';
import { failure } from '../../support/faults/failure.js';
import { expectUnchanged, queueOn } from '../../support/queue/queue-state.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startApp } from '../app.js';

function handlerOf(name: string, queue: string) {
  @JobHandler(name, { queue, maxAttempts: 1 })
  class Handler {
    handle(job: Job<number>) {
      if (job.payload < 0) {
        throw new RangeError('below zero');
      }
      return job.payload * 2;
    }
  }
  return Handler;
}

describe('through the service, by the name of the job', () => {
  it('dead letters are listed, redriven with another payload, and discarded', async () => {
    const [name, queue] = [uniqueQueueName(), uniqueQueueName('shared')];
    const jobs = (await startApp({ providers: [handlerOf(name, queue)] })).get(JobQueueService);
    const [first, second] = await jobs.enqueueMany<number>(name, [{ payload: -1 }, { payload: -2 }]);
    await Promise.allSettled([first!.result(), second!.result()]);
    const letters = jobs.queue(name).deadLetters;
    expect((await letters.list({ error: 'below' })).jobs.map(({ payload }) => String(payload)).toSorted()).toEqual([
      '-1',
      '-2',
    ]);
    expect((await letters.get(first!.id))!.attemptLog).toHaveLength(1);
    expect(await letters.redrive(first!.id, { payload: 4 })).toBe(true);
    expect(await first!.result()).toBe(8);
    expect(await letters.discardAll({ name })).toBe(1);
    expect(await letters.list()).toEqual({ jobs: [], cursor: undefined });
  });

  it('dead letters of chosen ids are redriven, and unfinished batches listed', async () => {
    const [name, queue] = [uniqueQueueName(), uniqueQueueName('shared')];
    const jobs = (await startApp({ providers: [handlerOf(name, queue)] })).get(JobQueueService);
    const [first, second] = await jobs.enqueueMany<number>(name, [{ payload: -1 }, { payload: -2 }]);
    await Promise.allSettled([first!.result(), second!.result()]);
    expect(await jobs.queue(name).deadLetters.redriveMany([first!.id, 'none'])).toBe(1);
    const batch = jobs.batch({ queue, id: 'open' });
    await batch.add(name, 1);
    expect(await jobs.queue(name).listBatches({ limit: 10 })).toMatchObject([
      { id: 'open', state: 'open', total: 1 },
    ]);
    expect(await jobs.queue(queue).listBatches()).toHaveLength(1);
  });

  it('old jobs are cleaned, and many results awaited', async () => {
    const [name, queue] = [uniqueQueueName(), uniqueQueueName('shared')];
    const jobs = (await startApp({ providers: [handlerOf(name, queue)] })).get(JobQueueService);
    const handles = await jobs.enqueueMany<number>(name, [{ payload: 1 }, { payload: 2 }]);
    expect(await awaitAll(handles)).toEqual([2, 4]);
    expect(await jobs.queue(name).clean('completed', { olderThanMs: 3_600_000 })).toBe(0);
    expect(await jobs.queue(name).clean('completed')).toBe(2);
    expect(await jobs.queue(queue).stats()).toMatchObject({ completed: 0 });
  });

  it('waiting jobs are listed, given another start and removed, and a queue is purged', async () => {
    const SendLater = defineJob(uniqueQueueName(), { payload: z.number(), queue: uniqueQueueName('shared') });
    const jobs = (await startApp({})).get(JobQueueService);
    const [first, second] = await jobs.enqueueMany(
      SendLater,
      [1, 2, 3].map((payload) => ({ payload, delayMs: 60_000 * payload })),
    );
    expect((await jobs.queue(SendLater).list('scheduled', { limit: 2 })).map(({ id }) => id)).toEqual([
      first!.id,
      second!.id,
    ]);
    expect(await jobs.queue(SendLater).reschedule(first!.id, { delayMs: 0 })).toBe('pending');
    expect((await jobs.queue(SendLater).list('pending')).map(({ id }) => id)).toEqual([first!.id]);
    expect(await jobs.queue(SendLater).remove(first!.id)).toBe('removed');
    expect(await jobs.queue(SendLater).remove(first!.id)).toBe('missing');
    await expect(jobs.queue(SendLater).purge({ confirm: SendLater.name })).rejects.toThrow(InvalidOptionError);
    expect(await jobs.queue(SendLater).purge({ confirm: second!.queue })).toBe(2);
    expect(await jobs.queue(SendLater).stats()).toMatchObject({ scheduled: 0, pending: 0 });
  });
});

it('through the service, a start by which the job would have expired is refused, and nothing is written', async () => {
  const jobs = (await startApp({})).get(JobQueueService);
  const SendLater = defineJob(uniqueQueueName(), { payload: z.number(), expiresInMs: 600_000 });
  const state = queueOn(connect(), {}, SendLater.name);
  const runAt = (await state.now()) + 3_600_000;
  await jobs.enqueue(SendLater, 1, { id: 'a' });
  const calls: [string, () => Promise<unknown>][] = [
    ['enqueue.expiresInMs', () => jobs.enqueue(SendLater, 2, { runAt })],
    ['enqueue.expiresInMs', () => jobs.enqueue(SendLater.name, 2, { runAt, expiresInMs: 600_000 })],
    ['enqueueMany[1].expiresInMs', () => jobs.enqueueMany(SendLater, [{ payload: 3 }, { payload: 2, runAt }])],
    ['reschedule.runAt', () => jobs.queue(SendLater).reschedule('a', { runAt })],
    ['reschedule.delayMs', () => jobs.queue(SendLater.name).reschedule('a', { delayMs: 3_600_000 })],
  ];
  await expectUnchanged(state, async () => {
    for (const [subject, call] of calls) {
      const refused = await failure(call);
      expect(refused).toBeInstanceOf(InvalidOptionError);
      expect(refused.subject).toBe(subject);
    }
  });
  expect(await jobs.queue(SendLater).reschedule('a', { delayMs: 60_000 })).toBe('scheduled');
});

it('through the service, another name among the options is refused as one that it does not know', async () => {
  const jobs = (await startApp({})).get(JobQueueService);
  const name = uniqueQueueName();
  const state = queueOn(connect(), {}, name);
  const named = { name: 'other' } as object;
  const unknown = 'expected a known option, found "name". The job\'s name is the first argument.';
  await expectUnchanged(state, async () => {
    for (const options of [named, { name } as object, { ...named, queue: name }]) {
      await expect(jobs.enqueue(name, 1, options)).rejects.toThrow(`enqueue.name: ${unknown}`);
    }
    const many = [{ payload: 1 }, { payload: 2, ...named }];
    await expect(jobs.enqueueMany(name, many)).rejects.toThrow(`enqueueMany[1].name: ${unknown}`);
    expect(await failure(() => jobs.enqueue(name, 1, named))).toBeInstanceOf(InvalidOptionError);
  });
});

it('the service refuses unknown options, and values that are no list, with a typed error', async () => {
  const jobs = (await startApp({})).get(JobQueueService);
  const name = uniqueQueueName();
  for (const call of [
    () => jobs.enqueue(name, 1, null as never),
    () => jobs.enqueueMany(name, [{ payload: 1 }], { queu: 'other' } as object),
    () => jobs.enqueueMany(name, [null] as never),
    () => jobs.enqueueMany(name, 'ab' as never),
    () => jobs.result(name, 'a', { timeout: 5 } as object),
    () => jobs.queue(name).clean('failed', { olderThan: 5 } as object),
    async () => jobs.events.where({ status: [] }),
  ]) {
    await expect(call()).rejects.toThrow(InvalidOptionError);
  }
  await expect(
    jobs.enqueueMany([
      { job: name, payload: 1 },
      { name, payload: 1 },
    ] as never),
  ).rejects.toThrow("enqueueMany[1].job: expected a job's name or a definition of defineJob, found undefined.");
  expect(await jobs.queue(name).stats()).toMatchObject({ pending: 0 });
});
