// Handlers that yield: what streams, and what becomes the result, inside of all that surrounds a handler.
import { expect, it } from '@jest/globals';
import { UseInterceptors, type NestInterceptor } from '@nestjs/common';
import { map, toArray, lastValueFrom } from 'rxjs';
import { defineJob, JobHandler, JobQueueService, type Job, type StreamItem } from 'nest-job-queue';
import { runHandler } from 'nest-job-queue/testing';
import { z } from 'zod';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { onEachStore, startApp } from '../app.js';

const name = uniqueQueueName();
const Count = defineJob(name, { payload: z.object({ to: z.number() }), result: z.object({ sum: z.number() }) });

const interceptor: NestInterceptor = {
  intercept: (_context, next) => next.handle().pipe(map((result) => result as never)),
};

@JobHandler(Count)
class Yields {
  async *handle(job: Job<{ to: number }>) {
    for (let i = 1; i <= job.payload.to; i++) yield i;
    return { sum: (job.payload.to * (job.payload.to + 1)) / 2 };
  }
}

@JobHandler(Count)
@UseInterceptors(interceptor)
class Intercepted extends Yields {}

/** Returns a stream of a client library, which has no result of the job. */
@JobHandler(name)
class Returns {
  async handle(): Promise<unknown> {
    return new ReadableStream({
      start(controller) {
        [1, 2, 3].forEach((each) => controller.enqueue(each));
        controller.close();
      },
    });
  }
}

async function itemsOf(items: AsyncIterable<StreamItem>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { type, data } of items) found.push(type === 'chunk' ? data : { [type]: data });
  return found;
}

onEachStore('a handler', () => {
  it.each([
    ['that yields', Yields, { sum: 6 }],
    ['with an interceptor', Intercepted, { sum: 6 }],
    ['that returns a stream', Returns, null],
  ])('%s streams', async (_what, type, result) => {
    const seen: unknown[] = [];
    const watch = {
      attempt: async (_job: Job, next: () => Promise<unknown>) => {
        seen.push(await next());
        return seen[0];
      },
    };
    const app = await startApp({ providers: [type], jobs: { middleware: type === Returns ? [] : [watch] } });
    const jobs = app.get(JobQueueService);
    const { id } = await jobs.enqueue(name, { to: 3 });
    expect(await itemsOf(jobs.stream(name, id))).toEqual([1, 2, 3, { result }]);
    expect(seen).toEqual(type === Returns ? [] : [result]);
  });

  it('sets what a new attempt does to its stream', async () => {
    @JobHandler(name, { stream: { onRetry: 'restart' } })
    class Retried {
      async *handle(job: Job) {
        yield job.attempt;
        if (job.attempt === 1) throw new Error('once');
      }
    }
    const jobs = (await startApp({ providers: [Retried] })).get(JobQueueService);
    const job = await jobs.enqueue(name, {});
    await job.result();
    expect(await itemsOf(jobs.stream(name, job.id))).toEqual([
      { attempt: { attempt: 2, restart: true } },
      2,
      { result: null },
    ]);
  });

  it('is read by the schema of its definition', async () => {
    const jobs = (await startApp({ providers: [Yields] })).get(JobQueueService);
    const { id } = await jobs.enqueue(Count, { to: 1 });
    for await (const item of jobs.stream(Count, id)) {
      const sum: number = item.type === 'result' ? item.data.sum : 1;
      expect(sum).toBe(1);
    }
  });

  it('sends each value as an event can carry it', async () => {
    const values = ['text', 5, null, { a: 1 }, Buffer.from([0, 255])];
    @JobHandler(name)
    class Values {
      async *handle() {
        yield* values;
      }
    }
    const jobs = (await startApp({ providers: [Values] })).get(JobQueueService);
    const { id } = await jobs.enqueue(name, {});
    const messages = await lastValueFrom(jobs.stream(name, id).pipe(toArray()));
    expect(messages.map(({ data }) => data)).toEqual(['text', '5', 'null', { a: 1 }, 'AP8=', 'null']);
  });

  it('is cancelled by a subscriber who leaves, by option', async () => {
    let reason: unknown;
    @JobHandler(name)
    class Waits {
      async *handle(job: Job) {
        yield 1;
        await new Promise((resolve) => job.signal.addEventListener('abort', resolve));
        reason = job.abortReason;
        yield 2;
      }
    }
    const jobs = (await startApp({ providers: [Waits] })).get(JobQueueService);
    const job = await jobs.enqueue(name, {});
    const reading = jobs.stream(name, job.id, { cancelOnLeave: true }).subscribe(() => reading.unsubscribe());
    await expect(job.result()).rejects.toMatchObject({ code: 'JOB_CANCELLED' });
    expect(reason).toMatchObject({ code: 'JOB_CANCELLED' });
  });
});

it('runHandler returns the result of a generator', async () => {
  expect(await runHandler(Yields, { to: 3 })).toEqual({ sum: 6 });
});
