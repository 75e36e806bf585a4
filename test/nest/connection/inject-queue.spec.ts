import { expect, it } from '@jest/globals';
import { Controller, Injectable, Module, Scope } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { getQueueToken, InjectQueue, JobHandler, JobQueue, JobQueueModule, JobQueueService } from 'nest-job-queue';
import { testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { KeptLog, startApp } from '../app.js';

it('injects the queue of the service, in providers and controllers of any module', async () => {
  const name = uniqueQueueName('video');
  @Injectable()
  class Producer {
    constructor(@InjectQueue(name) readonly queue: JobQueue) {}
  }
  @Controller()
  class Uploads {
    @InjectQueue(name)
    readonly queue!: JobQueue;
  }
  @Injectable({ scope: Scope.REQUEST })
  class PerRequest {
    constructor(@InjectQueue(name) readonly queue: JobQueue) {}
  }
  @Module({ providers: [Producer, PerRequest], controllers: [Uploads] })
  class FeatureModule {}
  const app = await startApp({ imports: [FeatureModule] });
  const queue = app.get(JobQueueService).queue(name);
  expect(app.get(Producer, { strict: false }).queue).toBe(queue);
  expect(app.get(Uploads, { strict: false }).queue).toBe(queue);
  expect((await app.resolve(PerRequest, undefined, { strict: false })).queue).toBe(queue);
  expect(await app.resolve(getQueueToken(name), undefined, { strict: false })).toBe(queue);
});

it('works for a class that is defined after forRoot was called', async () => {
  const name = uniqueQueueName();
  const module = JobQueueModule.forRoot({ redis: testRedisUrl() });
  @Injectable()
  class Late {
    constructor(@InjectQueue(name) readonly queue: JobQueue) {}
  }
  const app = await startApp({ module, providers: [Late] });
  expect(app.get(Late).queue.name).toBe(name);
});

it('gets the options that the handler has for its queue', async () => {
  const name = uniqueQueueName();
  @JobHandler(name, { visibilityMs: 7_000 })
  class Handler {
    constructor(@InjectQueue(name) readonly queue: JobQueue) {}
    handle() {}
  }
  const app = await startApp({ providers: [Handler] });
  expect(app.get(Handler).queue.options).toMatchObject({ visibilityMs: 7_000, foreignVisibilityMs: 7_000 });
});

it('makes no queue that this app does not inject', async () => {
  const name = uniqueQueueName('other-app');
  class OfAnotherApp {
    constructor(@InjectQueue(name) readonly queue: JobQueue) {}
  }
  const app = await startApp({});
  expect(app.get(JobQueueService).queueNames()).toEqual([]);
  expect(OfAnotherApp).toBeDefined();
});

it('can be overridden in a test', async () => {
  const name = uniqueQueueName();
  @Injectable()
  class Producer {
    constructor(@InjectQueue(name) readonly queue: JobQueue) {}
  }
  const fake = { enqueue: () => 'faked' };
  const compiled = await Test.createTestingModule({
    imports: [JobQueueModule.forRoot({ redis: testRedisUrl() })],
    providers: [Producer],
  })
    .overrideProvider(getQueueToken(name))
    .useValue(fake)
    .setLogger(new KeptLog())
    .compile();
  expect(compiled.get(Producer).queue).toBe(fake);
  await compiled.close();
});

it('refuses a name that cannot be part of a key', () => {
  expect(() => InjectQueue('my videos')).toThrow('queue name: expected 1 to 128 of A-Z');
});
