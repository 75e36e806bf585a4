// Rows of docs/from-bullmq.md where both libraries have a thing and it differs.
import { expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { InvalidOptionError, JobHandler, OnJobEvent, type Job, type WorkerEvent } from 'nest-job-queue';
import { trace } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { JobQueue } from 'nest-job-queue/core';
import { jobTracing } from 'nest-job-queue/tracing';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startTested } from '../../testing/module/app.js';

const HOUR = 3_600_000;

it('@OnJobEvent gets events of all queues, and failed is the last failure', async () => {
  const heard: string[] = [];
  @Injectable()
  class Listener {
    @OnJobEvent(['retry', 'failed'])
    all({ type, job }: WorkerEvent) {
      heard.push(`${job.queue} ${type}`);
    }

    @OnJobEvent('failed', { queue: 'audio' })
    one({ job }: WorkerEvent) {
      heard.push(`only ${job.queue}`);
    }
  }
  @Injectable()
  class Handlers {
    @JobHandler('audio', { maxAttempts: 2 })
    @JobHandler('video', { maxAttempts: 1 })
    fail() {
      throw new Error('no');
    }
  }
  const { jobs, testing } = await startTested({ providers: [Handlers, Listener] });
  await jobs.enqueue('audio', 1);
  await testing.drain();
  await jobs.enqueue('video', 1);
  await testing.drain();
  expect(heard.toSorted()).toEqual(['audio failed', 'audio retry', 'only audio', 'video failed']);
});

it('a cron runs in UTC, and an interval begins with its first whole multiple', async () => {
  const now = Date.UTC(2026, 0, 1, 0, 10);
  const { jobs, testing } = await startTested({ testing: { now } });
  await jobs.schedules.upsert('report', 'daily', { cron: '0 3 * * *' });
  await jobs.schedules.upsert('report', 'hourly', { everyMs: HOUR });
  const nextOf = async (id: string) => (await jobs.schedules.get('report', id))!.nextAt!.getTime();
  expect(await nextOf('daily')).toBe(Date.UTC(2026, 0, 1, 3));
  expect(await nextOf('hourly')).toBe(Date.UTC(2026, 0, 1, 1));
  expect(testing.enqueued('report')).toEqual([]);
});

it('a name with braces is refused; hashTag puts them there', () => {
  const redis = connect();
  expect(() => new JobQueue(redis, '{audio}')).toThrow(InvalidOptionError);
  expect(new JobQueue(redis, 'audio', { hashTag: true }).options.hashTag).toBe(true);
});

it('the steps of a job are its checkpoint, and its log is in its record', async () => {
  @JobHandler('steps')
  class Steps {
    async handle(job: Job) {
      const done = (job.lastCheckpoint as number | undefined) ?? 0;
      await job.log(`step ${done + 1}`);
      await job.checkpoint(done + 1);
      if (done === 0) throw new Error('again');
    }
  }
  const { jobs, testing } = await startTested({ providers: [Steps] });
  const job = await jobs.enqueue('steps', 1);
  await testing.drain();
  const record = (await jobs.get('steps', job.id))!;
  expect(record.log.map(({ message }) => message)).toEqual(['step 1', 'step 2']);
  expect(record).toMatchObject({ status: 'completed', attempts: 2 });
});

it('a waiting job is cancelled by its name and id', async () => {
  const { jobs } = await startTested({});
  const job = await jobs.enqueue('report', 1);
  await jobs.cancel('report', job.id);
  expect(await job.get()).toMatchObject({ status: 'cancelled' });
});

it('a backoff function sees the job', async () => {
  const seen: unknown[] = [];
  @JobHandler('picky', {
    maxAttempts: 2,
    backoff: (attempt, error, job) => {
      seen.push([attempt, (error as Error).message, job.name, job.payload, job.maxAttempts]);
      return (job.payload as { waitMs: number }).waitMs;
    },
  })
  class Picky {
    handle(): void {
      throw new Error('no');
    }
  }
  const { jobs, testing } = await startTested({ providers: [Picky] });
  const start = testing.now.getTime();
  await jobs.enqueue('picky', { waitMs: HOUR });
  await testing.drain({ delayed: true });
  expect(seen[0]).toEqual([1, 'no', 'picky', { waitMs: HOUR }, 2]);
  expect(testing.now.getTime() - start).toBeGreaterThanOrEqual(HOUR);
});

it('the next job is claimed by hand, completed or failed', async () => {
  const queue = new JobQueue(connect(), uniqueQueueName());
  await queue.enqueueMany([{ payload: 1 }, { payload: 2 }]);
  const first = (await queue.claim())!;
  await queue.complete(first, 'done');
  expect(await queue.get(first.id)).toMatchObject({ status: 'completed', result: 'done' });
  const second = (await queue.claim())!;
  await queue.fail(second, new Error('no'), { final: true });
  expect(await queue.get(second.id)).toMatchObject({ status: 'failed' });
});

it('the metrics of a queue are its history', async () => {
  const { jobs } = await startTested({ providers: [] });
  expect(await jobs.queue('report').history.read()).toMatchObject({ points: expect.any(Array) });
});

it('telemetry is middleware of the module', async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  @JobHandler('traced')
  class Traced {
    handle() {
      return 1;
    }
  }
  const { jobs, testing } = await startTested({ jobs: { middleware: [jobTracing()] }, providers: [Traced] });
  await jobs.enqueue('traced', 1);
  await testing.drain();
  trace.disable();
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['send traced', 'process traced']);
});
