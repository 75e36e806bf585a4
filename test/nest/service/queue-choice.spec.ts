// The verbs of the service in a queue that the call names, and jobs of several names in one call.
import { describe, expect, it } from '@jest/globals';
import {
  defineJob,
  EnqueueError,
  InvalidOptionError,
  InvalidPayloadError,
  JobHandler,
  JobQueueService,
  QueueFullError,
  type Job,
} from 'nest-job-queue';
import { z } from 'zod';
import { failure } from '../../support/faults/failure.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startApp } from '../app.js';

describe('the option queue', () => {
  it('is taken by each verb, as by enqueue', async () => {
    const [name, queue] = [uniqueQueueName(), uniqueQueueName('other')];
    const jobs = (await startApp({})).get(JobQueueService);
    const { id } = await jobs.enqueue(name, 1, { queue, delayMs: 3_600_000 });
    const there = { queue };
    expect(await jobs.get(name, id)).toBeNull();
    expect(await jobs.get(name, id, there)).toMatchObject({ name, queue });
    expect(await jobs.pause(name, there)).toBe(true);
    expect(await jobs.resume(name, there)).toBe(true);
    expect(await jobs.cancel(name, id, there)).toBe('cancelled');
    await expect(jobs.result(name, id, { ...there, timeoutMs: 1_000 })).rejects.toThrow('cancelled');
    expect(await jobs.schedules.list(name, there)).toEqual([]);
    const batch = jobs.batch({ queue, then: { name } });
    await batch.seal();
    expect(await jobs.findBatch(name, batch.id, there).status()).toMatchObject({ queue });
  });

  it('is refused where it is misspelled or no name', async () => {
    const jobs = (await startApp({})).get(JobQueueService);
    await expect(jobs.get('a', 'b', { queu: 'c' } as never)).rejects.toThrow(InvalidOptionError);
    await expect(jobs.cancel('a', 'b', { queue: 'no name' })).rejects.toThrow(InvalidOptionError);
  });

  it('update is checked by the definition of the handler, or the one that is given', async () => {
    const Count = defineJob(uniqueQueueName(), { payload: z.object({ n: z.number() }) });
    @JobHandler(Count)
    class Counts {
      handle(_job: Job<{ n: number }>): void {}
    }
    const jobs = (await startApp({ jobs: { worker: false }, providers: [Counts] })).get(JobQueueService);
    const { id } = await jobs.enqueue(Count, { n: 1 });
    await expect(jobs.queue(Count.name).update(id, { n: 'x' })).rejects.toThrow(InvalidPayloadError);
    expect(await jobs.queue(Count).update(id, { n: 2 })).toBe('updated');
    const Other = defineJob(uniqueQueueName(), { payload: z.object({ n: z.number() }) });
    expect(await jobs.queue(Count).update(Other, id, { n: 3 })).toBe('refused');
    expect((await jobs.get(Count, id))!.payload).toEqual({ n: 2 });
  });
});

describe('enqueueMany over several names', () => {
  it('adds each to its queue, with handles in the order of the call', async () => {
    const [one, two, shared] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName('shared')];
    const Typed = defineJob(two, { payload: z.object({ n: z.number() }), result: z.number() });
    const jobs = (await startApp({})).get(JobQueueService);
    const [a, b, c] = await jobs.enqueueMany([
      { job: one, payload: 'a' },
      { job: Typed, payload: { n: 1 }, delayMs: 1_000 },
      { job: one, payload: 'c', queue: shared, priority: 2 },
    ]);
    expect([a, b, c].map((handle) => [handle.name, handle.queue])).toEqual([
      [one, one],
      [two, two],
      [one, shared],
    ]);
    expect((await b.get())!.status).toBe('scheduled');
    expect((await c.get())!.priority).toBe(2);
  });

  it('checks all before the first is sent', async () => {
    const [one, two] = [uniqueQueueName(), uniqueQueueName()];
    const jobs = (await startApp({})).get(JobQueueService);
    const wrong = jobs.enqueueMany([
      { job: one, payload: 1 },
      { job: two, payload: 2, delayMs: -1 },
    ]);
    await expect(wrong).rejects.toThrow('enqueueMany[1].delayMs');
    expect((await jobs.queue(one).stats()).pending).toBe(0);
    await expect(jobs.enqueueMany([{ job: 7, payload: 1 }] as never)).rejects.toThrow(InvalidOptionError);
    expect(await jobs.enqueueMany([])).toEqual([]);
  });

  it('says of each job whether it was added, where queues are full or refuse one', async () => {
    const [full, fuller, free] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName()];
    const queues = { [full]: { maxPending: 1 }, [fuller]: { maxPending: 1 } };
    const jobs = (await startApp({ jobs: { queues } })).get(JobQueueService);
    const one = await failure<QueueFullError>(() =>
      jobs.enqueueMany([full, full, free].map((job, i) => ({ job, payload: 1, id: `a${i}` }))),
    );
    expect(one).toBeInstanceOf(QueueFullError);
    expect(one).toMatchObject({ queue: full, limit: 1 });
    expect(one.items).toEqual([
      { id: 'a0', outcome: 'new' },
      { id: 'a1', outcome: 'not-sent' },
      { id: 'a2', outcome: 'new' },
    ]);
    const two = await failure<QueueFullError>(() =>
      jobs.enqueueMany([full, fuller, full, fuller].map((job, i) => ({ job, payload: 1, id: `b${i}` }))),
    );
    expect(two).toBeInstanceOf(QueueFullError);
    expect(two.items.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
      'b0 not-sent',
      'b1 new',
      'b2 not-sent',
      'b3 not-sent',
    ]);
    const mixed = await failure<EnqueueError>(() =>
      jobs.enqueueMany([
        { job: fuller, payload: 1 },
        { job: full, payload: 1 },
        { job: free, payload: 1, after: ['nobody'] },
      ]),
    );
    expect(mixed).toBeInstanceOf(EnqueueError);
    expect(mixed).toMatchObject({ outcome: 'not-sent' });
    expect(mixed.items.map(({ outcome }) => outcome)).toEqual(['not-sent', 'not-sent', 'not-sent']);
    expect(mixed.jobIds.every((id) => id.length > 0)).toBe(true);
  });

  it('names the job that a queue refuses by its place in the call', async () => {
    const [one, two] = [uniqueQueueName(), uniqueQueueName()];
    const jobs = (await startApp({})).get(JobQueueService);
    const refused = jobs.enqueueMany([
      { job: one, payload: 1 },
      { job: two, payload: 2, after: ['nobody'] },
    ]);
    await expect(refused).rejects.toThrow('enqueueMany[1].after');
  });
});
