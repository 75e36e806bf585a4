// Where an app names the limits that its queues share.
import { expect, it } from '@jest/globals';
import { defineJob, InvalidOptionError, JobHandler, JobQueueService, type Job } from 'nest-job-queue';
import { z } from 'zod';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, onEachStore, passTime, startApp } from '../app.js';

onEachStore('a definition', () => {
  it('names the limits of the queue of its handler', async () => {
    const limit = uniqueQueueName();
    const Chat = defineJob(uniqueQueueName(), { payload: z.number(), limits: [limit] });
    const running: number[] = [];

    @JobHandler(Chat)
    class ChatHandler {
      constructor(private readonly jobs: JobQueueService) {}

      async handle(_job: Job<number>) {
        running.push((await this.jobs.limits(limit).get()).running);
      }
    }
    const limits = { [limit]: { maxRunning: 1 } };
    const app = await startApp({ jobs: { limits }, providers: [ChatHandler] });
    const jobs = app.get(JobQueueService);
    const handles = await jobs.enqueueMany(
      Chat,
      [1, 2, 3].map((payload) => ({ payload })),
    );
    await passTime(app);
    await Promise.all(handles.map((handle) => handle.result()));
    expect(running).toEqual([1, 1, 1]);
    expect((await jobs.queue(Chat).workers())[0]).toMatchObject({ limits: [limit] });
  });
});

onEachStore('a handler with several rates', () => {
  it('keeps all of them', async () => {
    const name = uniqueQueueName();
    const starts: number[] = [];
    const rateLimit = [
      { limit: 20, periodMs: 1_000, burst: 2 },
      { limit: 1_000, periodMs: 3_600_000, burst: 1_000 },
    ];

    @JobHandler(name, { rateLimit })
    class Limited {
      handle({ claimedAt }: Job<number>) {
        starts.push(claimedAt.getTime());
      }
    }
    const app = await startApp({ providers: [Limited] });
    const jobs = app.get(JobQueueService);
    const handles = await jobs.enqueueMany(
      name,
      [1, 2, 3, 4, 5].map((payload) => ({ payload })),
    );
    await passTime(app);
    await Promise.all(handles.map((handle) => handle.result()));
    expect(Math.max(...starts) - Math.min(...starts)).toBeGreaterThanOrEqual(3 * 50 - 20); // behind a burst of two
    expect(await jobs.limits(`@queue:${name}`).get()).toMatchObject({ rateLimit, queues: [name] });
  });
});

it('an app without queues steers a limit, also by a name that no queue may have', async () => {
  const limit = `${uniqueQueueName()}:job`;
  const app = await startApp({ providers: [] });
  const limits = app.get(JobQueueService).limits(limit);
  await limits.pause();
  expect(await limits.get()).toMatchObject({ name: limit, pausedAt: expect.any(Date) });
  expect(() => app.get(JobQueueService).limits('open ai')).toThrow('limit name: expected 1 to 128 of');
});

const RATE = { limit: 60, periodMs: 60_000, burst: 5 };

it.each([
  ['an unknown limit', { limits: ['openia'] }, 'Did you mean openai?'],
  ['limits of a handler in a shared queue', { limits: ['openai'], queue: 'jobs' }, 'forRoot({ queues:'],
  ['a cost above the burst of a rate', { limits: [{ limit: 'crm', cost: 6 }] }, 'Raise the burst'],
  ['a limit twice', { limits: ['crm', { limit: 'crm', cost: 2 }] }, ''],
  ['one name instead of a list', { limits: 'openai' }, ''],
])('the app does not boot with %s', async (_, options, hint) => {
  @JobHandler('chat', options as { limits: string[] })
  class ChatHandler {
    handle() {}
  }
  const app = await compileApp({
    jobs: { limits: { openai: { maxRunning: 1 }, crm: { rateLimit: RATE } } },
    providers: [ChatHandler],
  });
  const error: unknown = await app.init().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect((error as InvalidOptionError).message).toContain('limits');
  expect((error as InvalidOptionError).hint).toContain(hint);
});
