// Middleware of forRoot: objects, and classes that Nest makes, around the attempts and enqueues of an app.
import { Inject, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  JobQueueService,
  type EnqueueRequest,
  type Job,
  type JobHandle,
  type JobQueueMiddleware,
  type WorkerEvent,
} from 'nest-job-queue';
import { compileApp, handlerOf, startApp } from '../app.js';
import { eventually } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';

@Injectable()
class Notes {
  readonly lines: string[] = [];
}

@Injectable()
class Noting implements JobQueueMiddleware {
  constructor(@Inject(Notes) readonly notes: Notes) {}

  enqueue(request: EnqueueRequest, next: () => Promise<JobHandle[]>) {
    this.notes.lines.push(`enqueue ${request.jobs.length}`);
    request.jobs.forEach(({ options }) => (options.metadata = { from: 'noting' }));
    return next();
  }

  async attempt(job: Job, next: () => Promise<unknown>) {
    this.notes.lines.push(`attempt ${job.metadata.from}`);
    return `${String(await next())} by class`;
  }
}

@Injectable()
class Listening implements JobQueueMiddleware {
  constructor(@Inject(Notes) readonly notes: Notes) {}

  event({ type, job }: WorkerEvent): void {
    this.notes.lines.push(`${type} ${job.id}`);
  }
}

@Injectable()
class Unprovided implements JobQueueMiddleware {
  constructor(@Inject(ModuleRef) readonly ref: ModuleRef) {}

  async attempt(_job: Job, next: () => Promise<unknown>) {
    return `${String(await next())} after ${this.ref instanceof ModuleRef}`;
  }
}

@Injectable()
class Lacking implements JobQueueMiddleware {
  constructor(@Inject('nobody') readonly missing: unknown) {}

  attempt(_job: Job, next: () => Promise<unknown>) {
    return next();
  }
}

const around: JobQueueMiddleware = { attempt: async (_job, next) => `${String(await next())}, by object` };

describe('middleware of forRoot', () => {
  it('acts around attempts and enqueues: an object, and a class with its dependencies', async () => {
    const name = uniqueQueueName();
    const app = await startApp({
      jobs: { middleware: [around, Noting] },
      providers: [Notes, Noting, handlerOf(name, () => 'done')],
    });
    const jobs = app.get(JobQueueService);
    expect(await (await jobs.enqueue(name, 'text')).result()).toBe('done by class, by object');
    const [second] = await jobs.enqueueMany(name, [{ payload: 1 }, { payload: 2 }]);
    await second!.result();
    const { lines } = app.get(Notes);
    expect(lines.slice(0, 3)).toEqual(['enqueue 1', 'attempt noting', 'enqueue 2']);
    expect((await second!.get())!.metadata).toEqual({ from: 'noting' });
  });

  it('passes each event once, also of a job that no worker has', async () => {
    const name = uniqueQueueName();
    const app = await startApp({
      jobs: { middleware: [Listening] },
      providers: [Notes, Listening, handlerOf(name, () => 'done')],
    });
    const jobs = app.get(JobQueueService);
    await (await jobs.enqueue(name, 'text', { id: 'runs' })).result();
    await jobs.enqueue(name, 'text', { id: 'waits', delayMs: 60_000 });
    await jobs.queue(name).cancel('waits');
    const { lines } = app.get(Notes);
    await eventually(() => lines.length === 3, { what: 'three events' });
    expect(lines).toEqual(['started runs', 'completed runs', 'cancelled waits']);
  });

  it('makes a class that no module provides, from global providers', async () => {
    const name = uniqueQueueName();
    const app = await startApp({ jobs: { middleware: [Unprovided] }, providers: [handlerOf(name, () => 'done')] });
    expect(await (await app.get(JobQueueService).enqueue(name, 1)).result()).toBe('done after true');
  });

  it('stops the boot where a class lacks a dependency', async () => {
    const app = await compileApp({ jobs: { middleware: [Lacking] } });
    await expect(app.init()).rejects.toThrow(/nobody/);
  });

  it.each([
    [5, 'forRoot.middleware: expected a list'],
    [[{}], 'forRoot.middleware[0]: expected an object with a method attempt, bulk, enqueue or event'],
    [[Notes], 'forRoot.middleware[0]'],
    [[() => 1], /middleware\[0\]: expected an object with a method .*, found a function\.$/],
  ])('refuses %p', async (middleware, message) => {
    await expect(compileApp({ jobs: { middleware: middleware as never } })).rejects.toThrow(message);
  });
});
