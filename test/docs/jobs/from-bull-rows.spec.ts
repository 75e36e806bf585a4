// Rows of docs/from-bullmq.md for apps on @nestjs/bull, and what a cut-over relies on.
import { expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  InvalidOptionError,
  JobHandler,
  JobQueueService,
  NonRetryableError,
  OnJobEvent,
  type Job,
  type WorkerEvent,
} from 'nest-job-queue';
import { gate } from '../../support/faults/wait.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startTested } from '../../testing/module/app.js';
import { compileApp, startApp } from '../../nest/app.js';

const HOUR = 3_600_000;

it('the methods of a processor are handlers of one queue, and its concurrency is that of the queue', async () => {
  const [queue, opened] = [uniqueQueueName('audio'), gate()];
  let [running, most] = [0, 0];
  const work = async () => {
    most = Math.max(most, ++running);
    if (running === 2) setImmediate(opened.open);
    await opened.promise;
    running--;
  };
  @Injectable()
  class Audio {
    @JobHandler('transcode', { queue })
    transcode() {
      return work();
    }

    @JobHandler('concatenate', { queue })
    concatenate() {
      return work();
    }
  }
  const app = await startApp({ jobs: { queues: { [queue]: { concurrency: 2 } } }, providers: [Audio] });
  const jobs = app.get(JobQueueService);
  const names = ['transcode', 'transcode', 'concatenate', 'concatenate'];
  const added = await jobs.enqueueMany(names.map((job, payload) => ({ job, payload })));
  await Promise.all(added.map((job) => job.result({ timeoutMs: 20_000 })));
  expect(added.map((job) => job.queue)).toEqual(names.map(() => queue));
  expect(most).toBe(2);
}, 40_000);

it('the concurrency of one method of a processor is refused, with the place for it', async () => {
  @Injectable()
  class Audio {
    @JobHandler('transcode', { queue: 'audio', concurrency: 5 })
    transcode() {}
  }
  const refused = await (await compileApp({ providers: [Audio] })).init().catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(InvalidOptionError);
  expect((refused as Error).message).toContain(
    'JobQueueModule.forRoot({ queues: { "audio": { concurrency: … } } })',
  );
});

it('active, completed and failed of a queue are events of its jobs', async () => {
  const heard: string[] = [];
  @Injectable()
  class Audio {
    @OnJobEvent(['started', 'completed', 'retry', 'failed'], { queue: 'audio' })
    hear({ type }: WorkerEvent) {
      heard.push(type);
    }

    @JobHandler('transcode', { queue: 'audio', maxAttempts: 2 })
    transcode({ payload }: Job<'sound' | 'broken'>) {
      if (payload === 'broken') throw new Error('no');
    }
  }
  const { jobs, testing } = await startTested({ providers: [Audio] });
  await jobs.enqueue('transcode', 'sound');
  await testing.drain();
  await jobs.enqueue('transcode', 'broken');
  await testing.drain();
  expect(heard).toEqual(['started', 'completed', 'started', 'retry', 'started', 'failed']);
});

it('global events are those of the service', async () => {
  @JobHandler('transcode')
  class Transcode {
    handle() {}
  }
  const { jobs, testing } = await startTested({ providers: [Transcode] });
  const ended: string[] = [];
  const listening = jobs.events.subscribe(({ queue, status }) => ended.push(`${queue} ${status}`));
  await jobs.enqueue('transcode', 1);
  await testing.drain();
  listening.unsubscribe();
  expect(ended).toContain('transcode completed');
});

it('progress is awaited, finished() is the result of the handle, and discard() is an error without a retry', async () => {
  @JobHandler('transcode', { maxAttempts: 3 })
  class Transcode {
    async handle(job: Job<string>) {
      await job.progress(50);
      if (job.payload === 'broken') throw new NonRetryableError('no sound in it');
      return `${job.payload}.mp3`;
    }
  }
  const { jobs, testing } = await startTested({ providers: [Transcode] });
  const [sound, broken] = await jobs.enqueueMany('transcode', [{ payload: 'a' }, { payload: 'broken' }]);
  await testing.drain();
  expect(await sound!.result({ timeoutMs: 1_000 })).toBe('a.mp3');
  expect(await sound!.get()).toMatchObject({ progress: 50 });
  expect(await broken!.get()).toMatchObject({ status: 'failed', attempts: 1 });
});

it('repeat with cron and tz is a schedule, whose upsert repeats nothing', async () => {
  const { jobs } = await startTested({ testing: { now: Date.UTC(2026, 6, 1) } });
  const upsert = () => jobs.schedules.upsert('report', 'daily', { cron: '0 3 * * *', timeZone: 'Europe/Berlin' });
  expect([await upsert(), await upsert()]).toEqual(['created', 'unchanged']);
  expect((await jobs.schedules.get('report', 'daily'))!.nextAt).toEqual(new Date(Date.UTC(2026, 6, 1, 1)));
});

it('the settings of a queue have their names in forRoot', async () => {
  const { jobs } = await startTested({
    jobs: { maintenance: { everyMs: 30_000 }, queues: { audio: { visibilityMs: 60_000, maxCrashes: 2 } } },
  });
  expect(jobs.queue('audio').options).toMatchObject({ visibilityMs: 60_000, maxCrashes: 2 });
});

it('both libraries run on one Redis: a queue of the same name leaves the keys of Bull alone', async () => {
  const [name, redis] = [uniqueQueueName('audio'), connect()];
  const theirs = [`bull:${name}:wait`, `bull:${name}:1`, `bull:${name}:meta`];
  await redis.rpush(theirs[0]!, '1');
  await redis.hset(theirs[1]!, 'name', 'transcode', 'data', '{}');
  await redis.hset(theirs[2]!, 'opts.maxLenEvents', '10000');
  const before = await Promise.all(theirs.map((key) => redis.dumpBuffer(key)));
  const app = await startApp({ jobs: { worker: false } });
  const jobs = app.get(JobQueueService);
  const delayed = await jobs.enqueue(name, { from: 'there' }, { runAt: new Date(Date.now() + HOUR) });
  expect(await delayed.get()).toMatchObject({ status: 'scheduled' });
  expect((await jobs.queue(name).doctor({ repair: true })).findings).toEqual([]);
  expect(await jobs.queue(name).purge({ confirm: name, everything: true })).toBe(1);
  expect(await redis.keys(`queue:${name}:*`)).toEqual([]);
  expect(await Promise.all(theirs.map((key) => redis.dumpBuffer(key)))).toEqual(before);
});

it('after a way back, the handlers here finish their jobs', async () => {
  const seen: unknown[] = [];
  @JobHandler('transcode')
  class Transcode {
    handle({ payload }: Job) {
      seen.push(payload);
    }
  }
  const { jobs, testing } = await startTested({ providers: [Transcode] });
  await jobs.enqueueMany('transcode', [{ payload: 1 }, { payload: 2, delayMs: HOUR }]);
  await testing.drain({ delayed: true }); // no producer adds here any more
  expect(seen).toEqual([1, 2]);
  expect(await jobs.queue('transcode').stats()).toMatchObject({ pending: 0, scheduled: 0, processing: 0 });
});
