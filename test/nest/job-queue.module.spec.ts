import { afterEach, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  InvalidOptionError,
  JobQueueModule,
  JobQueueService,
  RedisUnsuitableError,
  type JobQueueModuleOptions,
  type JobQueueOptionsFactory,
} from 'nest-job-queue';
import { JOB_QUEUE_OPTIONS } from '#nest/job-queue.options.js';
import { connect, testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';
import { compileApp, KeptLog, startApp, type TestApp, handlerOf } from './app.js';

function echo(name: string) {
  const EchoHandler = handlerOf(name, ({ payload }: { payload: unknown }) => payload);
  return EchoHandler;
}

/** Expects that an app of this module runs a job, and that its queue has these attempts. */
async function expectItRuns(module: TestApp['module'], maxAttempts = 10): Promise<void> {
  const name = uniqueQueueName();
  const app = await startApp({ module, providers: [echo(name)] });
  const jobs = app.get(JobQueueService);
  expect(await (await jobs.enqueue(name, { n: 1 })).result()).toEqual({ n: 1 });
  expect(jobs.queue(name).options.maxAttempts).toBe(maxAttempts);
}

const URL_OPTIONS = (): JobQueueModuleOptions => ({ redis: testRedisUrl(), maxAttempts: 5 });

@Injectable()
class OptionsFactory implements JobQueueOptionsFactory {
  createJobQueueOptions() {
    return Promise.resolve(URL_OPTIONS());
  }
}

@Module({
  providers: [{ provide: 'URL', useFactory: testRedisUrl }, OptionsFactory],
  exports: ['URL', OptionsFactory],
})
class ConfigModule {}

describe('forRoot', () => {
  const before = process.env.REDIS_URL;
  afterEach(() => {
    if (before === undefined) {
      delete process.env.REDIS_URL;
    } else {
      process.env.REDIS_URL = before;
    }
  });

  it('takes nothing: REDIS_URL', async () => {
    process.env.REDIS_URL = testRedisUrl();
    await expectItRuns(JobQueueModule.forRoot());
  });

  it('refuses a REDIS_URL that is none, without showing its password', async () => {
    process.env.REDIS_URL = 'http://me:secret@cache:6379';
    const failing = startApp({ module: JobQueueModule.forRoot() });
    await expect(failing).rejects.toThrow(
      'REDIS_URL: expected a URL such as redis://localhost:6379, found "…@cache:6379".',
    );
  });

  it.each([
    ['valkey://me:secret@cache:6379', 'redis://'],
    ['valkeys://cache:6379', 'rediss://'],
  ])('says how to write %s', (redis, scheme) => {
    const failing = startApp({ module: JobQueueModule.forRoot({ redis }) });
    return expect(failing).rejects.toThrow(
      expect.objectContaining({
        message: expect.stringMatching(`expected a URL.*Valkey speaks the same protocol.*${scheme}`),
      }),
    );
  });

  it.each(['no', 1, null])('refuses %j for isGlobal', (isGlobal) => {
    const found = `JobQueueModule.forRoot.isGlobal: expected true or false, found ${JSON.stringify(isGlobal)}.`;
    expect(() => JobQueueModule.forRoot({ isGlobal } as never)).toThrow(found);
    expect(() => JobQueueModule.forRootAsync({ useFactory: () => ({}), isGlobal } as never)).toThrow(found);
  });

  it.each<[unknown, string]>([
    ['redis://cache:6379', 'found "redis://cache:6379"'],
    [null, 'found null'],
    [['a'], 'found ["a"]'],
  ])('refuses %j in the place of its options', (options, found) => {
    const expected =
      "JobQueueModule.forRoot: expected an object of options, such as { redis: 'redis://localhost:6379' }, ";
    expect(() => JobQueueModule.forRoot(options as never)).toThrow(`${expected}${found}.`);
  });

  it.each<[object, string]>([
    [{ logFailures: { attempt: 'log' } }, 'Did you mean attempts?'],
    [{ globalEnhancers: ['guard'] }, 'found ["guard"].'],
  ])('helps with %j', async (jobs, help) => {
    await expect(startApp({ module: JobQueueModule.forRoot(jobs) })).rejects.toThrow(help);
  });

  it('takes a URL, options of ioredis, or a client', async () => {
    const { hostname, port } = new URL(testRedisUrl());
    await expectItRuns(JobQueueModule.forRoot(URL_OPTIONS()), 5);
    await expectItRuns(JobQueueModule.forRoot({ redis: { host: hostname, port: Number(port) } }));
    await expectItRuns(JobQueueModule.forRoot({ redis: connect() }));
  });

  it('never closes a client that was handed in, and closes its own', async () => {
    const client = connect();
    const app = await startApp({ jobs: { redis: client }, providers: [echo(uniqueQueueName())] });
    await app.close();
    expect(await client.ping()).toBe('PONG');
    const connectionName = uniqueQueueName('own');
    const { hostname: host, port } = new URL(testRedisUrl());
    const count = async () => String(await client.client('LIST')).split(`name=${connectionName} `).length - 1;
    const name = uniqueQueueName();
    const owning = await startApp({
      jobs: { redis: { host, port: Number(port), connectionName } },
      providers: [echo(name)],
    });
    const jobs = owning.get(JobQueueService);
    await (await jobs.enqueue(name, 1)).result();
    // For commands, for waiting, and for the result that was just waited for.
    expect(await count()).toBe(3);
    await owning.close();
    while ((await count()) > 0) {
      // The server notices a moment later; one that stays open ends the test by its timeout.
    }
  });

  it('serves an app that is a producer only', async () => {
    const name = uniqueQueueName();
    const log = new KeptLog();
    const app = await startApp({ jobs: { worker: false }, providers: [echo(name)], log });
    const job = await app.get(JobQueueService).enqueue(name, 1);
    // A worker elsewhere takes the job: this process would have taken it sooner.
    const other = await startApp({ providers: [echo(name)] });
    expect(await job.result()).toBe(1);
    expect(await app.get(JobQueueService).queue(name).stats()).toMatchObject({ workers: 1 });
    expect(log.lines.filter((line) => line.includes('serves'))).toEqual([]);
    await other.close();
  });

  it('is global unless told otherwise', async () => {
    @Injectable()
    class Producer {
      constructor(readonly jobs: JobQueueService) {}
    }
    @Module({ providers: [Producer] })
    class FeatureModule {}
    const app = await startApp({ imports: [FeatureModule] });
    expect(app.get(Producer, { strict: false }).jobs).toBe(app.get(JobQueueService));
    const local = compileApp({
      module: JobQueueModule.forRoot({ redis: testRedisUrl(), isGlobal: false }),
      imports: [FeatureModule],
    });
    await expect(local).rejects.toThrow("can't resolve dependencies of the Producer");
  });

  it('is refused the second time', async () => {
    const twice = compileApp({ imports: [JobQueueModule.forRoot({ redis: testRedisUrl() })] });
    await expect(twice).rejects.toThrow(
      'JobQueueModule.forRoot: expected to be imported once in an app, found two imports, in RootTestModule.',
    );
  });

  it('is refused the second time with the modules that import it, also those of one class', async () => {
    @Module({})
    class JobsModule {
      static register() {
        return { module: JobsModule, imports: [JobQueueModule.forRoot({ redis: testRedisUrl() })] };
      }
    }
    @Module({ imports: [JobsModule.register()] })
    class MailModule {}
    @Module({ imports: [JobsModule.register()] })
    class ReportModule {}
    const twice = Test.createTestingModule({ imports: [MailModule, ReportModule] }).compile();
    await expect(twice).rejects.toThrow(
      'found two imports, in JobsModule (imported by MailModule and ReportModule). ' +
        'It is global: import it in the root module only, or share one constant. ' +
        'A dynamic module that is imported twice is two modules: let it return one constant.',
    );
  });

  it('refuses a server that is too old, with that reason', async () => {
    const client = connect();
    await client.ping();
    client.info = () => Promise.resolve('redis_version:6.2.14\r\n');
    client.eval = () => Promise.reject(new Error('ERR unknown command'));
    const booting = startApp({ jobs: { redis: client }, providers: [echo(uniqueQueueName())] });
    await expect(booting).rejects.toThrow('Redis 6.2.14 lacks what scripts need');
  });

  it('refuses a client with keyPrefix', async () => {
    const app = compileApp({ jobs: { redis: connect({ keyPrefix: 'app:' }) } });
    await expect(app).rejects.toThrow(RedisUnsuitableError);
  });
});

describe('forRootAsync', () => {
  it('takes useFactory with imports and inject', async () => {
    const module = JobQueueModule.forRootAsync({
      imports: [ConfigModule],
      inject: ['URL'],
      useFactory: async (redis: string) => Promise.resolve({ redis, maxAttempts: 4 }),
    });
    await expectItRuns(module, 4);
  });

  it('takes useClass', async () => {
    await expectItRuns(JobQueueModule.forRootAsync({ useClass: OptionsFactory }), 5);
  });

  it('takes useExisting', async () => {
    await expectItRuns(JobQueueModule.forRootAsync({ imports: [ConfigModule], useExisting: OptionsFactory }), 5);
  });

  it('takes none of them as a mistake, and two as well', () => {
    expect(() => JobQueueModule.forRootAsync({})).toThrow(
      'JobQueueModule.forRootAsync: expected one of useFactory, useClass and useExisting, found none.',
    );
    expect(() => JobQueueModule.forRootAsync({ useClass: OptionsFactory, useFactory: URL_OPTIONS })).toThrow(
      'found useFactory and useClass',
    );
  });

  it('takes a class whose method is a property', async () => {
    class Settings implements JobQueueOptionsFactory {
      createJobQueueOptions = () => URL_OPTIONS();
    }
    await expectItRuns(JobQueueModule.forRootAsync({ useClass: Settings }), 5);
  });

  it.each(['useClass', 'useExisting'] as const)('refuses a class in %s that makes no options', async (way) => {
    @Injectable()
    class Settings {}
    @Module({ providers: [Settings], exports: [Settings] })
    class SettingsModule {}
    const module = JobQueueModule.forRootAsync({ imports: [SettingsModule], [way]: Settings });
    await expect(compileApp({ module })).rejects.toThrow(
      `JobQueueModule.forRootAsync.${way}: expected a class with createJobQueueOptions(), found Settings without this method.`,
    );
  });

  it.each([undefined, null, 'redis://localhost'])('refuses %j instead of its options', (options) => {
    expect(() => JobQueueModule.forRootAsync(options as never)).toThrow(
      `JobQueueModule.forRootAsync: expected an object of options, such as { useFactory: () => ({ redis: 'redis://localhost:6379' }) }, found ${JSON.stringify(options) ?? 'undefined'}.`,
    );
  });

  it('refuses an option of forRoot beside them, because it would have no effect', () => {
    const options = { useFactory: URL_OPTIONS, redis: 'redis://cache:6379' };
    expect(() => JobQueueModule.forRootAsync(options)).toThrow(
      /^JobQueueModule\.forRootAsync\.redis: expected .*, found "redis"\. Return it from useFactory, if/,
    );
  });

  it('checks the options that the factory returns', async () => {
    const module = JobQueueModule.forRootAsync({ useFactory: () => ({ visibilityMs: -1 }) });
    await expect(compileApp({ module })).rejects.toThrow(
      'JobQueueModule.forRoot.visibilityMs: expected a whole number',
    );
  });

  it.each([undefined, null, 'redis://localhost'])('checks that it gave options, and not %j', async (made) => {
    const module = JobQueueModule.forRootAsync({ useFactory: () => made as never });
    await expect(compileApp({ module })).rejects.toThrow(
      `JobQueueModule.forRootAsync: expected options from useFactory or createJobQueueOptions, found ${JSON.stringify(made) ?? 'undefined'}.`,
    );
  });
});

describe('a bad option stops the boot', () => {
  it('as does the module without its options', async () => {
    const app = compileApp({ module: JobQueueModule, providers: [] });
    await expect(app).rejects.toThrow(
      'imports: expected JobQueueModule.forRoot() or JobQueueModule.forRootAsync() in the root module, ' +
        'found JobQueueModule alone.',
    );
  });

  it('but not the module beside a forRoot of the app', async () => {
    await expect(compileApp({ imports: [JobQueueModule] })).resolves.toBeDefined();
  });

  it.each<[object, string]>([
    [{ concurency: 5 }, '.concurency: expected a known option, found "concurency". Did you mean concurrency?'],
    [{ connection: {} }, '.connection: expected a known option, found "connection". Did you mean redis?'],
    [{ visibilityMs: -1 }, '.visibilityMs: expected a whole number from 100'],
    [{ concurrency: 0 }, '.concurrency: expected a whole number from 1 to 100000, found 0.'],
    [{ worker: 'yes' }, `.worker: expected true, false or 'manual', found "yes".`],
    [
      { redis: 6379 },
      '.redis: expected a URL, an object of ioredis options, or a Redis or Cluster client, found 6379.',
    ],
    [{ redis: 'cache:6379' }, '.redis: expected a URL such as redis://localhost:6379, found "cache:6379".'],
    [{ redis: { on: () => undefined } }, '.redis: expected a client of ioredis'],
    [
      { queues: { jobs: { visibilityMS: 500 } } },
      '.queues.jobs.visibilityMS: expected a known option, found "visibilityMS". Did you mean visibilityMs?',
    ],
    [{ queues: { jobs: { concurrency: 1.5 } } }, '.queues.jobs.concurrency: expected a whole number'],
    [{ queues: [] }, '.queues: expected an object of queue options by queue name'],
    [{ maintenance: true }, '.maintenance: expected false, { everyMs } or { cron }, found true.'],
    [{ maintenance: {} }, '.maintenance: expected either everyMs or cron, found neither.'],
    [
      { maintenance: { everyMs: 500, cron: '* * * * *' } },
      '.maintenance: expected either everyMs or cron, found both.',
    ],
    [{ maintenance: { everyMs: 0 } }, '.maintenance.everyMs: expected a whole number from 100'],
    [
      { maintenance: { every: 500 } },
      '.maintenance.every: expected a known option, found "every". Did you mean everyMs?',
    ],
    [
      { maintenance: { cron: 'often' } },
      '.maintenance.cron: expected a cron expression such as \'*/10 * * * * *\', found "often".',
    ],
    [{ maintenance: { cron: '* * * * *', timeZone: 'Mars' } }, '.maintenance.timeZone: expected a time zone'],
    [{ shutdownTimeoutMs: 0 }, '.shutdownTimeoutMs: expected a whole number from 1'],
    [{ requireRedis: 5 }, '.requireRedis: expected true, false or { timeoutMs }, found 5.'],
    [
      { requireRedis: { timeout: 5 } },
      '.requireRedis.timeout: expected a known option, found "timeout". Did you mean timeoutMs?',
    ],
  ])('%j', async (options, message) => {
    const failing = compileApp({ jobs: options });
    await expect(failing).rejects.toThrow(InvalidOptionError);
    await expect(failing).rejects.toThrow(`JobQueueModule.forRoot${message}`);
  });

  it('a queue name that cannot be part of a key', async () => {
    await expect(compileApp({ jobs: { queues: { 'my jobs': {} } } })).rejects.toThrow(
      'queue name: expected 1 to 128',
    );
  });
});

it('the options, which may hold a password, stay inside of the module', async () => {
  @Injectable()
  class Reader {
    constructor(@Inject(JOB_QUEUE_OPTIONS) readonly options: JobQueueModuleOptions) {}
  }
  await expect(compileApp({ providers: [Reader] })).rejects.toThrow("can't resolve dependencies of the Reader");
});

it('a testing module runs jobs without an app around it', async () => {
  const name = uniqueQueueName();
  const compiled = await Test.createTestingModule({
    imports: [JobQueueModule.forRoot(URL_OPTIONS())],
    providers: [echo(name)],
  })
    .setLogger(new KeptLog())
    .compile();
  await compiled.init();
  expect(await (await compiled.get(JobQueueService).enqueue(name, 1)).result()).toBe(1);
  await compiled.close();
});
