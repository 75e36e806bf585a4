// @JobHandler with bulk: several jobs in one call.
import { describe, expect, it } from '@jest/globals';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { z } from 'zod';
import { awaitAll, defineJob, JobHandler, JobQueueService, type BulkCall, type Job } from 'nest-job-queue';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, startApp } from '../app.js';

describe('@JobHandler with bulk', () => {
  it('gets several jobs in one call of the provider, and gives each its outcome', async () => {
    const name = uniqueQueueName();
    const sizes: number[] = [];
    @JobHandler(name, { bulk: { size: 4, waitMs: 30 }, concurrency: 1, maxAttempts: 1 })
    class Index {
      private readonly factor = 2;
      handle(jobs: Job<number>[], { signal }: BulkCall) {
        sizes.push(jobs.length);
        signal.throwIfAborted();
        return jobs.map(({ payload }) => (payload === 3 ? new Error('no') : payload * this.factor));
      }
    }
    const jobs = (await startApp({ providers: [Index] })).get(JobQueueService);
    const handles = await jobs.enqueueMany<number>(
      name,
      [1, 2, 3, 4].map((payload) => ({ payload })),
    );
    await expect(handles[2]!.result()).rejects.toThrow('no');
    expect(await awaitAll([handles[0]!, handles[1]!, handles[3]!])).toEqual([2, 4, 8]);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(4);
  });

  it('is typed by a definition, whose schemas hold for each job', async () => {
    const Double = defineJob(uniqueQueueName(), { payload: z.object({ n: z.number() }), result: z.number() });
    @JobHandler(Double, { bulk: { size: 5 } })
    class Doubles {
      handle(jobs: Job<{ n: number }>[]) {
        return jobs.map(({ payload }) => payload.n * 2);
      }
    }
    const jobs = (await startApp({ providers: [Doubles] })).get(JobQueueService);
    expect(await (await jobs.enqueue(Double, { n: 4 })).result()).toBe(8);
  });

  it.each([{ bulk: { size: 1 } }, { bulk: { size: 5 }, thread: import.meta.url }])(
    'stops the boot with %j',
    async (options) => {
      @JobHandler(uniqueQueueName(), options)
      class Wrong {}
      await expect((await compileApp({ providers: [Wrong] })).init()).rejects.toThrow(/bulk/);
    },
  );
});

it('a concurrency below the slots of a job is refused, also before the workers start', async () => {
  const name = uniqueQueueName();
  @JobHandler(name, { slots: 4 })
  class Handler {
    handle(): void {}
  }
  @Injectable()
  class Tuner implements OnApplicationBootstrap {
    constructor(private readonly jobs: JobQueueService) {}
    onApplicationBootstrap(): void {
      this.refuses();
      this.jobs.setConcurrency(name, 4);
    }
    refuses(): void {
      expect(() => this.jobs.setConcurrency(name, 3)).toThrow('at most the concurrency 3 of the queue, found 4');
    }
  }
  const app = await startApp({ providers: [Handler, Tuner] });
  app.get(Tuner).refuses();
  await (await app.get(JobQueueService).enqueue(name, 1)).result();
});

it('the concurrency of a queue is set while the app runs', async () => {
  const name = uniqueQueueName();
  @JobHandler(name)
  class Handler {
    handle(): void {}
  }
  const jobs = (await startApp({ providers: [Handler] })).get(JobQueueService);
  jobs.setConcurrency(name, 20);
  expect(() => jobs.setConcurrency('nobody', 2)).toThrow('a queue that this process serves');
  expect(() => jobs.setConcurrency(name, 0)).toThrow('concurrency');
  await (await jobs.enqueue(name, 1)).result();
});
