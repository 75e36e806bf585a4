// Queues as static providers, feature modules, and a module that is not global.
import { Injectable, Module } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { getQueueToken, InjectQueue, JobHandler, JobQueue, JobQueueModule, JobQueueService } from 'nest-job-queue';
import { testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { handlerOf, KeptLog, startApp } from '../app.js';

describe('app.get(getQueueToken(name))', () => {
  it('finds the queues of handlers, of forRoot, and of @InjectQueue', async () => {
    const [handled, shared, listed, injected] = Array.from({ length: 4 }, () => uniqueQueueName());
    @Injectable()
    class Handlers {
      constructor(@InjectQueue(injected!) readonly queue: JobQueue) {}

      @JobHandler('invoice', { queue: shared })
      invoice() {}
    }
    const app = await startApp({
      jobs: { queues: { [listed!]: { maxAttempts: 7 } } },
      providers: [handlerOf(handled!), Handlers],
    });
    const service = app.get(JobQueueService);
    for (const name of [handled!, shared!, listed!, injected!]) {
      expect(app.get<JobQueue>(getQueueToken(name))).toBe(service.queue(name));
    }
    expect(app.get<JobQueue>(getQueueToken(listed!)).options.maxAttempts).toBe(7);
    expect(new Set(service.queueNames())).toEqual(new Set([handled, shared, listed, injected]));
  });

  it('lets a test override the queue of a handler and one of forRoot', async () => {
    const [handled, listed] = [uniqueQueueName(), uniqueQueueName()];
    const compiled = await Test.createTestingModule({
      imports: [JobQueueModule.forRoot({ redis: testRedisUrl(), queues: { [listed]: {} } })],
      providers: [handlerOf(handled)],
    })
      .overrideProvider(getQueueToken(handled))
      .useValue('one')
      .overrideProvider(getQueueToken(listed))
      .useValue('two')
      .setLogger(new KeptLog())
      .compile();
    expect([handled, listed].map((name) => compiled.get<string>(getQueueToken(name)))).toEqual(['one', 'two']);
    await compiled.close();
  });

  it('makes nothing of a queue that only another app of the process handles', async () => {
    const name = uniqueQueueName();
    handlerOf(name);
    const app = await startApp({});
    expect(app.get(JobQueueService).queueNames()).toEqual([]);
    const queue = app.get<JobQueue>(getQueueToken(name));
    await queue.enqueue({ works: true });
    expect(app.get(JobQueueService).queue(name)).toBe(queue);
  });
});

const local = () => JobQueueModule.forRoot({ redis: testRedisUrl(), isGlobal: false });

describe('a module that is not global', () => {
  it('gives feature modules their queues and the service by forFeature', async () => {
    const [video, email] = [uniqueQueueName(), uniqueQueueName()];
    @Injectable()
    class Uploads {
      constructor(
        @InjectQueue(video) readonly queue: JobQueue,
        readonly jobs: JobQueueService,
      ) {}
    }
    @Module({
      imports: [JobQueueModule.forFeature(video, email)],
      providers: [Uploads, handlerOf(email, () => 'sent')],
    })
    class UploadModule {}
    const app = await startApp({ module: local(), imports: [UploadModule] });
    const { queue, jobs } = app.get(Uploads, { strict: false });
    expect(queue).toBe(jobs.queue(video));
    expect(await (await jobs.enqueue(email, {})).result()).toBe('sent');
  });

  it('is not there for a module that imports neither', async () => {
    @Injectable()
    class Uploads {
      constructor(readonly jobs: JobQueueService) {}
    }
    @Module({ providers: [Uploads] })
    class UploadModule {}
    await expect(startApp({ module: local(), imports: [UploadModule] })).rejects.toThrow('JobQueueService');
  });

  it('may be shared as one constant', async () => {
    const module = local();
    @Injectable()
    class Uploads {
      constructor(readonly jobs: JobQueueService) {}
    }
    @Module({ imports: [module], providers: [Uploads] })
    class UploadModule {}
    const app = await startApp({ module, imports: [UploadModule] });
    expect(app.get(Uploads, { strict: false }).jobs).toBe(app.get(JobQueueService));
  });
});

describe('forFeature', () => {
  it('serves a lazy module, whose classes were defined after the boot', async () => {
    const name = uniqueQueueName();
    const app = await startApp({});
    @Injectable()
    class Late {
      constructor(@InjectQueue(name) readonly queue: JobQueue) {}
    }
    @Module({ imports: [JobQueueModule.forFeature(name)], providers: [Late] })
    class LateModule {}
    const ref = await app.get(LazyModuleLoader).load(() => LateModule);
    expect(ref.get(Late).queue).toBe(app.get(JobQueueService).queue(name));
  });

  it('without forRoot names the missing import', async () => {
    const compiling = Test.createTestingModule({ imports: [JobQueueModule.forFeature('video')] })
      .setLogger(new KeptLog())
      .compile();
    await expect(compiling).rejects.toThrow('queues of JobQueueModule.forRoot()');
  });

  it('refuses a value that is no name, no option and no connection', () => {
    expect(() => JobQueueModule.forFeature('my videos')).toThrow('queue name: expected 1 to 128 of A-Z');
    expect(() => JobQueueModule.forFeature({ queues: 'video' } as never)).toThrow('expected a list of queue names');
    expect(() => JobQueueModule.forFeature({ queues: ['video'], connection: 'a b' })).toThrow(
      'JobQueueModule.forFeature: expected 1 to 64 of A-Z a-z 0-9 _ -, found "a b".',
    );
  });
});
