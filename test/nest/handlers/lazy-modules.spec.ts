// Handlers in feature modules, of factories, and in modules that are loaded while the app runs.
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { expect, it } from '@jest/globals';
import { InvalidOptionError, JobHandler, JobQueueService, type Job } from 'nest-job-queue';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { handlerOf, startApp } from '../app.js';

/** Makes a module with a handler of a name, which returns a word. */
function moduleOf(name: string) {
  @Injectable()
  class Words {
    readonly word = 'lazy';
  }
  @JobHandler(name)
  class LazyHandler {
    constructor(private readonly words: Words) {}

    handle(job: Job<string>) {
      return `${this.words.word} ${job.payload}`;
    }
  }
  @Module({ providers: [Words, LazyHandler] })
  class LazyModule {}
  return LazyModule;
}

it('a handler of a lazy module runs jobs once its module has loaded, those that waited too', async () => {
  const [eager, lazy] = [uniqueQueueName(), uniqueQueueName()];
  const app = await startApp({ providers: [handlerOf(eager, () => 'eager')] });
  const jobs = app.get(JobQueueService);
  const waiting = await jobs.enqueue(lazy, 'first');
  const loader = app.get(LazyModuleLoader);
  const LazyModule = moduleOf(lazy);
  await loader.load(() => LazyModule);
  expect(await waiting.result()).toBe('lazy first');
  expect(await (await jobs.enqueue(eager, {})).result()).toBe('eager');
  await loader.load(() => LazyModule);
  expect(await (await jobs.enqueue(lazy, 'second')).result()).toBe('lazy second');
  jobs.pauseWorker(lazy);
  const paused = await jobs.enqueue(lazy, 'third');
  expect(await (await jobs.enqueue(eager, {})).result()).toBe('eager');
  expect((await paused.get())!.status).toBe('pending');
  jobs.resumeWorker(lazy);
  expect(await paused.result()).toBe('lazy third');
});

it('works in an app without other handlers, and of a producer nothing runs', async () => {
  const [lazy, produced] = [uniqueQueueName(), uniqueQueueName()];
  const [app, producer] = [await startApp({}), await startApp({ jobs: { worker: false } })];
  await app.get(LazyModuleLoader).load(() => moduleOf(lazy));
  expect(await (await app.get(JobQueueService).enqueue(lazy, 'job')).result()).toBe('lazy job');
  await producer.get(LazyModuleLoader).load(() => moduleOf(produced));
  expect((await app.get(JobQueueService).queue(lazy).stats()).workers).toBe(1);
  expect((await producer.get(JobQueueService).queue(produced).stats()).workers).toBe(0);
});

it('joins the others where it is loaded before the app has started', async () => {
  const name = uniqueQueueName();
  const LazyModule = moduleOf(name);
  @Injectable()
  class Starter implements OnModuleInit {
    constructor(private readonly loader: LazyModuleLoader) {}

    async onModuleInit() {
      await this.loader.load(() => LazyModule);
    }
  }
  const app = await startApp({ providers: [Starter] });
  expect(await (await app.get(JobQueueService).enqueue(name, 'early')).result()).toBe('lazy early');
});

it('is refused for a queue that this process serves, and for a bad option', async () => {
  const name = uniqueQueueName();
  const app = await startApp({ providers: [handlerOf(name)] });
  const loader = app.get(LazyModuleLoader);
  await expect(loader.load(() => moduleOf(name))).rejects.toThrow(
    `expected a queue of its own, since its module was loaded lazily, found the queue "${name}"`,
  );
  @JobHandler(uniqueQueueName(), { concurrency: 0 })
  class Bad {
    handle() {}
  }
  @Module({ providers: [Bad] })
  class BadModule {}
  await expect(loader.load(() => BadModule)).rejects.toBeInstanceOf(InvalidOptionError);
});

it('a handler of a factory, a value, and a class under another token', async () => {
  const names = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName()];
  const [Made, Value, Aliased] = names.map((name) => handlerOf(name, () => name));
  const app = await startApp({
    providers: [
      { provide: 'made', useFactory: async () => new Made!() },
      { provide: 'value', useValue: new Value!() },
      { provide: 'aliased', useClass: Aliased! },
    ],
  });
  const jobs = app.get(JobQueueService);
  for (const name of names) {
    expect(await (await jobs.enqueue(name, {})).result()).toBe(name);
  }
});
