// Rows of docs/from-bullmq.md where both libraries have a thing and it differs.
import { expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { InvalidOptionError, JobHandler, OnJobEvent, type Job, type WorkerEvent } from 'nest-job-queue';
import { JobQueue } from 'nest-job-queue/core';
import { connect } from '../../support/redis/redis.js';
import { startTested } from '../../testing/module/app.js';

const HOUR = 3_600_000;

it('@OnJobEvent hears all queues, and failed is the last failure', async () => {
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
