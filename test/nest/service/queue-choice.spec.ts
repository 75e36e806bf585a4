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
  type JobHandle,
  type JobQueue,
  type JobQueueMiddleware,
} from 'nest-job-queue';
import { z } from 'zod';
import { failure } from '../../support/faults/failure.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startApp } from '../app.js';
import { someOf } from '../../support/run/samples.js';

async function cancelled(queue: JobQueue): Promise<JobHandle> {
  const handle = await queue.enqueue(1);
  await handle.cancel();
  return handle;
}

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

  it('does not change which queue a name leads to afterwards', async () => {
    const [name, home] = [uniqueQueueName(), uniqueQueueName('home')];
    @JobHandler(name, { queue: home })
    class Works {
      handle(): void {}
    }
    const jobs = (await startApp({ jobs: { worker: false }, providers: [Works] })).get(JobQueueService);
    await jobs.enqueue(name, 1, { queue: name });
    expect(jobs.queue(name).name).toBe(home);
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
        { job: free, payload: 2 },
        { job: full, payload: 1 },
      ]),
    );
    expect(mixed).toBeInstanceOf(QueueFullError);
    expect(mixed.items.map(({ outcome }) => outcome)).toEqual(['not-sent', 'new', 'not-sent']);
    expect(mixed.items.every(({ id }) => id.length > 0)).toBe(true);
  });

  describe.each<[string, (other: JobQueue) => Promise<object>, string]>([
    ['an unknown job', async () => ({ after: ['nobody'] }), 'after'],
    ['a cancelled job of another queue', async (other) => ({ after: [await cancelled(other)] }), 'after'],
    [
      'an expiry before its start',
      async () => ({ runAt: Date.now() + 3_600_000, expiresInMs: 60_000 }),
      'expiresInMs',
    ],
  ])('refuses the whole call because of %s', (_, refuse, option) => {
    it.each(someOf([0, 1, 2, 699, 700, 1_199], 3))(
      'at place %i of two queues and more than a step',
      async (place) => {
        const [one, two] = [uniqueQueueName(), uniqueQueueName()];
        const jobs = (await startApp({})).get(JobQueueService);
        const bad = await refuse(jobs.queue(uniqueQueueName()));
        const many = Array.from({ length: 1_200 }, (__, i) => ({
          job: i % 2 === 0 ? one : two,
          payload: i,
          ...(i === place && bad),
        }));
        const error = await failure<InvalidOptionError>(() => jobs.enqueueMany(many));
        expect(error).toBeInstanceOf(InvalidOptionError);
        expect(error.subject).toBe(`enqueueMany[${place}].${option}`);
        for (const name of [one, two]) {
          expect((await jobs.queue(name).stats()).totals.enqueued ?? 0).toBe(0);
        }
      },
    );
  });

  it('adds the jobs of all queues where jobs that may be refused are not', async () => {
    const [one, two] = [uniqueQueueName(), uniqueQueueName()];
    const jobs = (await startApp({})).get(JobQueueService);
    const first = await jobs.enqueue(one, 1);
    const handles = await jobs.enqueueMany([
      { job: one, payload: 2, after: [first] },
      { job: two, payload: 3, after: [first] },
      { job: two, payload: 4 },
    ]);
    expect(handles.map(({ queue, outcome }) => [queue, outcome])).toEqual([
      [one, 'new'],
      [two, 'new'],
      [two, 'new'],
    ]);
  });

  it('waits for no queue whose middleware adds the jobs in another way', async () => {
    const [one, two] = [uniqueQueueName(), uniqueQueueName()];
    let added: JobHandle[] = [];
    const own: JobQueueMiddleware = { enqueue: async ({ queue }, next) => (queue === one ? added : next()) };
    const jobs = (await startApp({ jobs: { middleware: [own] } })).get(JobQueueService);
    added = [await jobs.enqueue(uniqueQueueName(), 1)];
    const both = (second: object) =>
      jobs.enqueueMany([
        { job: one, payload: 1 },
        { job: two, payload: 2, ...second },
      ]);
    expect(await both({ after: added })).toMatchObject([{ id: added[0]!.id }, { queue: two }]);
    const error = await failure<EnqueueError>(() => both({ after: ['nobody'] }));
    expect(error.items.map(({ outcome }) => outcome)).toEqual(['new', 'not-sent']);
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
