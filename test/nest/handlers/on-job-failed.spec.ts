// @OnJobFailed: a final failure as a job of its own.
import { expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import {
  defineJob,
  JobHandler,
  JobQueueService,
  NonRetryableError,
  OnJobFailed,
  type Job,
  type JobFailure,
} from 'nest-job-queue';
import { gate, within } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, startApp } from '../app.js';

function failingHandler(name: string, options = {}) {
  @JobHandler(name, options)
  class Failing {
    handle(): void {
      throw new NonRetryableError('no');
    }
  }
  return Failing;
}

it('handles the failures of a handler with a queue of its own, which keeps its options', async () => {
  const name = uniqueQueueName();
  const told = gate<JobFailure>();
  @Injectable()
  class Refunds {
    @OnJobFailed(name, { maxAttempts: 10 })
    refund({ payload }: Job<JobFailure>): void {
      told.open(payload);
    }
  }
  const app = await startApp({ providers: [failingHandler(name, { concurrency: 3 }), Refunds] });
  const job = await app.get(JobQueueService).enqueue(name, { order: 7 });
  expect(await within(20_000, 'the failure', told.promise)).toMatchObject({
    id: job.id,
    queue: name,
    payload: { order: 7 },
    error: 'no',
  });
});

it('finds the queue of the handler, and takes a definition', async () => {
  const [name, queue] = [uniqueQueueName(), uniqueQueueName()];
  const Order = defineJob(name, { payload: z.object({ order: z.number() }) });
  const told = gate<number>();
  @JobHandler(Order, { queue })
  class Orders {
    handle(): void {
      throw new NonRetryableError('no');
    }
  }
  @Injectable()
  class Refunds {
    @OnJobFailed(Order)
    refund({ payload: failure }: Job<JobFailure<{ order: number }>>): void {
      told.open(failure.payload.order);
    }
  }
  const app = await startApp({ providers: [Refunds, Orders] });
  await app.get(JobQueueService).enqueue(Order, { order: 7 });
  expect(await within(20_000, 'the failure', told.promise)).toBe(7);
});

it('stops the boot where a second one handles the same failures, or an option is unknown', async () => {
  const name = uniqueQueueName();
  @Injectable()
  class Twice {
    @OnJobFailed(name)
    one(): void {}
    @OnJobFailed(name)
    two(): void {}
  }
  await expect((await compileApp({ providers: [Twice] })).init()).rejects.toThrow(/one handler of the failures/);
  @Injectable()
  class Wrong {
    @OnJobFailed(name, { concurrency: 2 } as never)
    one(): void {}
  }
  await expect((await compileApp({ providers: [Wrong] })).init()).rejects.toThrow(/@OnJobFailed.*concurrency/s);
});
