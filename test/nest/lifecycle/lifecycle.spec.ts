import { describe, expect, it } from '@jest/globals';
import {
  Global,
  Injectable,
  Module,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Job, JobHandler, JobQueueModule, JobQueueService, ShutdownError } from 'nest-job-queue';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, KeptLog, startApp, handlerOf } from '../app.js';
import { gate } from '../../support/faults/wait.js';

/** Waits long enough for a running worker to take a job. */
async function someRoundTrips(): Promise<void> {
  const redis = connect();
  for (let i = 0; i < 20; i++) {
    await redis.ping();
  }
}

describe('workers start', () => {
  it('after the bootstrap hooks of every provider and module, whatever is global', async () => {
    const name = uniqueQueueName();
    const order: string[] = [];
    const hook = (label: string) => async () => {
      await someRoundTrips();
      order.push(label);
    };
    const done = gate();

    @Injectable()
    class Client implements OnModuleInit, OnApplicationBootstrap {
      onModuleInit = hook('init of a provider of a global module');
      onApplicationBootstrap = hook('bootstrap of a provider of a global module');
    }
    @Global()
    @Module({ providers: [Client], exports: [Client] })
    class ClientModule {}

    @JobHandler(name)
    class Handler implements OnApplicationBootstrap {
      onApplicationBootstrap = hook('bootstrap of the handler');
      handle() {
        order.push('job');
        done.open();
      }
    }
    @Module({ providers: [Handler] })
    class FeatureModule implements OnApplicationBootstrap {
      onApplicationBootstrap = hook('bootstrap of a feature module');
    }
    @Module({ imports: [JobQueueModule.forRoot({ redis: testRedisUrl() }), ClientModule, FeatureModule] })
    class AppModule implements OnApplicationBootstrap {
      constructor(private readonly jobs: JobQueueService) {}
      async onApplicationBootstrap() {
        await this.jobs.enqueue(name, null);
        await hook('bootstrap of the root module')();
      }
    }
    const producer = await startApp({ jobs: { worker: false } });
    await producer.get(JobQueueService).enqueue(name, null);
    const app = await NestFactory.createApplicationContext(AppModule, { logger: new KeptLog() });
    await done.promise;
    await app.close();
    expect(order.slice(0, 6)).toEqual([
      'init of a provider of a global module',
      'bootstrap of a provider of a global module',
      'bootstrap of the handler',
      'bootstrap of a feature module',
      'bootstrap of the root module',
      'job',
    ]);
  });

  it('in an application context without HTTP', async () => {
    const name = uniqueQueueName();
    const Handler = handlerOf(name, () => 'done');
    @Module({ imports: [JobQueueModule.forRoot({ redis: testRedisUrl() })], providers: [Handler] })
    class WorkerModule {}
    const app = await NestFactory.createApplicationContext(WorkerModule, { logger: new KeptLog() });
    const job = await app.get(JobQueueService).enqueue(name, null);
    expect(await job.result()).toBe('done');
    await app.close();
  });
});

it('enqueue knows the queue of a handler in the constructors and init hooks of others', async () => {
  const queue = uniqueQueueName();
  @JobHandler('email', { queue })
  class Handler {
    handle() {}
  }
  @Injectable()
  class Early implements OnModuleInit {
    readonly first: Promise<string>;
    second: string | undefined;
    constructor(private readonly jobs: JobQueueService) {
      this.first = jobs.enqueue('email', null).then((job) => job.queue);
    }
    async onModuleInit() {
      this.second = (await this.jobs.enqueue('email', null)).queue;
    }
  }
  const app = await startApp({ providers: [Early, Handler] });
  expect([await app.get(Early).first, app.get(Early).second]).toEqual([queue, queue]);
});

describe('when the app closes', () => {
  it('a running job ends before anything closes that it may need, and can still enqueue', async () => {
    const name = uniqueQueueName();
    const follow = uniqueQueueName();
    const running = gate();
    const finish = gate();
    const order: string[] = [];

    @Injectable()
    class Database implements OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown {
      onModuleDestroy() {
        order.push('onModuleDestroy');
      }
      beforeApplicationShutdown() {
        order.push('beforeApplicationShutdown');
      }
      async onApplicationShutdown() {
        await this.jobs.enqueue(follow, 'from the last hook');
        order.push('onApplicationShutdown');
      }
      constructor(readonly jobs: JobQueueService) {}
    }
    @Global()
    @Module({ providers: [Database], exports: [Database] })
    class DatabaseModule {}
    @JobHandler(name)
    class Handler {
      constructor(private readonly database: Database) {}
      async handle() {
        running.open();
        await finish.promise;
        await this.database.jobs.enqueue(follow, 'from the job');
        order.push('job done');
      }
    }
    // The root module's hooks are the first that Nest runs at a shutdown.
    @Injectable()
    class RootClient implements OnModuleDestroy {
      onModuleDestroy() {
        order.push('onModuleDestroy in the root module');
      }
    }
    const app = await startApp({ imports: [DatabaseModule], providers: [Handler, RootClient] });
    const observer = await startApp({ jobs: { worker: false } });
    const job = await app.get(JobQueueService).enqueue(name, null);
    await running.promise;
    const closing = app.close();
    await someRoundTrips();
    finish.open();
    await closing;
    expect(order).toEqual([
      'job done',
      'onModuleDestroy in the root module',
      'onModuleDestroy',
      'beforeApplicationShutdown',
      'onApplicationShutdown',
    ]);
    const jobs = observer.get(JobQueueService);
    expect(await jobs.get(name, job.id)).toMatchObject({ status: 'completed', attempts: 1 });
    expect(await jobs.queue(follow).stats()).toMatchObject({ pending: 2 });
  });

  it('a job that is not done at the deadline is aborted and released, its attempt uncounted', async () => {
    const name = uniqueQueueName();
    const running = gate();
    const reason = gate<unknown>();
    @JobHandler(name)
    class Stubborn {
      handle(job: Job) {
        job.signal.addEventListener('abort', () => reason.open(job.signal.reason));
        running.open();
        return new Promise(() => undefined);
      }
    }
    const app = await startApp({ jobs: { shutdownTimeoutMs: 500 }, providers: [Stubborn] });
    const observer = await startApp({ jobs: { worker: false } });
    const job = await app.get(JobQueueService).enqueue(name, null);
    await running.promise;
    const started = performance.now();
    await app.close();
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(await reason.promise).toBeInstanceOf(ShutdownError);
    expect(await observer.get(JobQueueService).get(name, job.id)).toMatchObject({
      status: 'pending',
      attempts: 0,
      interruptions: 1,
    });
  });

  it('drains a worker even if its app never finished to boot', async () => {
    const app = await compileApp({
      providers: [
        {
          provide: 'BROKEN',
          useValue: {
            onApplicationBootstrap() {
              throw new Error('broken');
            },
          },
        },
      ],
    });
    await expect(app.init()).rejects.toThrow('broken');
    await app.close();
  });
});

it('a start that meets a close says so, and blames no option', async () => {
  const app = await compileApp({ providers: [] });
  const started = app.init();
  const refused = expect(started).rejects.toThrow('The app was closed while it started');
  await app.close();
  await refused;
});

it('an enqueue after the close is refused at once', async () => {
  const name = uniqueQueueName();
  const app = await startApp({ providers: [] });
  const jobs = app.get(JobQueueService);
  await jobs.enqueue(name, null);
  await app.close();
  await expect(jobs.enqueue(name, null)).rejects.toThrow('The Redis client is closed. Nothing was written');
});

it('jobs.drain() stops the worker and lets running handlers end, twice as once; enqueueing continues', async () => {
  const name = uniqueQueueName();
  const running = gate();
  const finish = gate();
  let runs = 0;
  @JobHandler(name)
  class Handler {
    async handle() {
      runs++;
      running.open();
      await finish.promise;
      return 'done';
    }
  }
  const app = await startApp({ providers: [Handler] });
  const jobs = app.get(JobQueueService);
  const job = await jobs.enqueue(name, null);
  await running.promise;
  const draining = [jobs.drain(), jobs.drain()];
  const late = await jobs.enqueue(name, null);
  finish.open();
  await Promise.all(draining);
  expect(await job.result()).toBe('done');
  expect(await late.get()).toMatchObject({ status: 'pending' });
  expect(runs).toBe(1);
});

describe('pause', () => {
  it('of a queue holds the whole fleet until resume', async () => {
    const name = uniqueQueueName();
    const Handler = handlerOf(name, () => 'done');
    const app = await startApp({ providers: [Handler] });
    const jobs = app.get(JobQueueService);
    expect([await jobs.pause(name), await jobs.pause(name)]).toEqual([true, false]);
    const job = await jobs.enqueue(name, null);
    await someRoundTrips();
    expect(await jobs.queue(name).stats()).toMatchObject({ pending: 1, pausedAt: expect.any(Date) });
    expect(await jobs.resume(name)).toBe(true);
    expect(await job.result()).toBe('done');
  });

  it('of the worker holds this process only, one queue or all', async () => {
    const [name, other] = [uniqueQueueName(), uniqueQueueName()];
    @Injectable()
    class Handlers {
      @JobHandler(name)
      one() {
        return 'here';
      }

      @JobHandler(other)
      two() {
        return 'here';
      }
    }
    const app = await startApp({ providers: [Handlers] });
    const jobs = app.get(JobQueueService);
    jobs.pauseWorker(name);
    const held = await jobs.enqueue(name, null);
    expect(await (await jobs.enqueue(other, null)).result()).toBe('here');
    expect(await held.get()).toMatchObject({ status: 'pending' });
    jobs.resumeWorker(name);
    expect(await held.result()).toBe('here');
    jobs.pauseWorker();
    const both = [await jobs.enqueue(name, null), await jobs.enqueue(other, null)];
    await someRoundTrips();
    expect(await both[0]!.get()).toMatchObject({ status: 'pending' });
    jobs.resumeWorker();
    expect(await Promise.all(both.map((job) => job.result()))).toEqual(['here', 'here']);
  });
});
