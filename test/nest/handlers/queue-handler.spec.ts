// A handler of a whole queue: of every name that has no handler of its own.
import { describe, expect, it } from '@jest/globals';
import { Injectable, type Type } from '@nestjs/common';
import {
  InvalidOptionError,
  Job,
  JobHandler,
  JobQueueService,
  RecurringJob,
  type QueueHandlerOptions,
} from 'nest-job-queue';
import { runHandler } from '#testing/module/run-handler.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, startApp } from '../app.js';

const bootError = async (...providers: Type[]) => {
  const app = await compileApp({ providers });
  const error: unknown = await app.init().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidOptionError);
  return (error as Error).message;
};

describe('@JobHandler({ queue })', () => {
  it('gets the jobs of every name of the queue, by its own options', async () => {
    const queue = uniqueQueueName();
    @JobHandler({ queue, concurrency: 3, maxAttempts: 2 })
    class Audio {
      handle({ name, maxAttempts }: Job) {
        return `${name} ${maxAttempts}`;
      }
    }
    const app = await startApp({ providers: [Audio] });
    const jobs = app.get(JobQueueService);
    const named = await jobs.enqueue('transcode', {}, { queue });
    const plain = await jobs.queue(queue).enqueue({});
    expect(await Promise.all([named.result(), plain.result()])).toEqual(['transcode 2', `${queue} 2`]);
    expect((await jobs.queue(queue).stats()).unserved).toEqual([]);
  });

  it('leaves names to handlers of their own where it says so', async () => {
    const queue = uniqueQueueName();
    @Injectable()
    class Audio {
      @JobHandler({ queue, names: 'others' })
      other({ name }: Job) {
        return `other: ${name}`;
      }

      @JobHandler('transcode', { queue })
      transcode({ name }: Job) {
        return `own: ${name}`;
      }
    }
    const app = await startApp({ providers: [Audio] });
    const jobs = app.get(JobQueueService);
    const handles = await jobs.enqueueMany([
      { job: 'transcode', payload: {} },
      { job: 'transcod', payload: {}, queue },
    ]);
    expect(await Promise.all(handles.map((each) => each.result()))).toEqual(['own: transcode', 'other: transcod']);
  });

  it('does not boot beside other handlers without being asked for, since it would hide a misspelled name', async () => {
    class Audio {
      @JobHandler({ queue: 'audio' })
      all() {}

      @JobHandler('transcode', { queue: 'audio' })
      transcode() {}
    }
    expect(await bootError(Audio)).toBe(
      '@JobHandler({ queue: "audio" }) on Audio.all: expected no other handler in queue "audio", found ' +
        '@JobHandler("transcode") on Audio.transcode. ' +
        "Add names: 'others' if it must get every other name, misspelled ones too.",
    );
  });

  it('does not boot without a queue, with other words for its names, or with a recurring job', async () => {
    class NoQueue {
      @JobHandler({} as QueueHandlerOptions)
      handle() {}
    }
    class OtherNames {
      @JobHandler({ queue: 'audio', names: 'some' as never })
      handle() {}
    }
    class Recurring {
      @RecurringJob({ everyMs: 1_000 })
      @JobHandler({ queue: 'audio' })
      handle() {}
    }
    expect(await bootError(NoQueue)).toContain("expected a queue's name, found none");
    expect(await bootError(OtherNames)).toContain("expected 'all' or 'others', found \"some\"");
    expect(await bootError(Recurring)).toContain('expected a handler of one name, found one of every name');
  });

  it('is run by runHandler with the name that the test gives', async () => {
    @JobHandler({ queue: 'audio' })
    class Audio {
      handle({ name, queue }: Job) {
        return `${name} of ${queue}`;
      }
    }
    expect(await runHandler(Audio, {}, { name: 'transcode' })).toBe('transcode of audio');
    expect(await runHandler(Audio, {})).toBe('audio of audio');
  });
});
