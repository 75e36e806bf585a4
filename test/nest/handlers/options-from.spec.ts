// Options of handlers that the app makes: of a class, or of a factory with what it injects.
import { Injectable, Module, Scope } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  InvalidOptionError,
  JobHandler,
  JobQueueService,
  type JobHandlerOptionsFactory,
  type JobHandlerOptionsSource,
  type MadeHandlerOptions,
} from 'nest-job-queue';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, startApp } from '../app.js';

@Injectable()
class Config {
  get(key: string): number {
    return { ATTEMPTS: 2, VISIBILITY: 7_000 }[key] ?? 0;
  }
}

@Injectable()
class EmailOptions implements JobHandlerOptionsFactory {
  constructor(private readonly config: Config) {}

  async createJobHandlerOptions() {
    return { maxAttempts: this.config.get('ATTEMPTS'), visibilityMs: this.config.get('VISIBILITY') };
  }
}

const OF_CONFIG: JobHandlerOptionsSource = {
  inject: [Config, { token: 'absent', optional: true }],
  useFactory: (config: Config, absent: unknown) => ({
    maxAttempts: absent ? 9 : config.get('ATTEMPTS'),
    visibilityMs: config.get('VISIBILITY'),
  }),
};

describe('options of a handler', () => {
  it.each<[string, JobHandlerOptionsSource, object[]]>([
    ['a provider', { optionsFrom: EmailOptions }, [EmailOptions]],
    ['a class that is no provider', { optionsFrom: EmailOptions }, []],
    ['a factory', OF_CONFIG, []],
  ])('come from %s, over those of the decorator', async (_, source, more) => {
    const name = uniqueQueueName();
    @JobHandler(name, { maxAttempts: 5, backoff: 0, ...source })
    class Handler {
      handle() {
        throw new Error('never');
      }
    }
    const app = await startApp({ providers: [Handler, Config, ...(more as [])] });
    const jobs = app.get(JobQueueService);
    expect(jobs.queue(name).options.visibilityMs).toBe(7_000);
    await expect((await jobs.enqueue(name, {})).result()).rejects.toMatchObject({ attempts: 2 });
  });

  it('that a factory leaves undefined are those of the decorator', async () => {
    const name = uniqueQueueName();
    @JobHandler(name, { visibilityMs: 7_000, useFactory: () => ({ visibilityMs: undefined }) })
    class Handler {
      handle() {}
    }
    const app = await startApp({ providers: [Handler] });
    expect(app.get(JobQueueService).queue(name).options.visibilityMs).toBe(7_000);
  });

  it('come from the module of the handler', async () => {
    const name = uniqueQueueName();
    @JobHandler(name, { optionsFrom: EmailOptions })
    class Handler {
      handle() {}
    }
    @Module({ providers: [Handler, Config, EmailOptions] })
    class FeatureModule {}
    const app = await startApp({ imports: [FeatureModule] });
    expect(app.get(JobQueueService).queue(name).options.visibilityMs).toBe(7_000);
  });
});

describe('the app does not boot with', () => {
  @Injectable({ scope: Scope.REQUEST })
  class Scoped implements JobHandlerOptionsFactory {
    createJobHandlerOptions = () => ({});
  }

  it.each<[string, object, string]>([
    ['both', { ...OF_CONFIG, optionsFrom: EmailOptions }, 'expected either optionsFrom or useFactory, found both.'],
    ['inject alone', { inject: [Config] }, 'expected either optionsFrom or useFactory, found inject alone.'],
    ['no class', { optionsFrom: 'EmailOptions' }, '.optionsFrom: expected a class, found "EmailOptions".'],
    ['no function', { useFactory: {} }, '.useFactory: expected a function, found an object with no keys.'],
    ['inject of a class', { optionsFrom: EmailOptions, inject: [] }, '.inject: expected a list of tokens beside'],
    ['no object made', { useFactory: () => 5 }, '.useFactory: expected an object of handler options, found 5.'],
    [
      'a queue made',
      { useFactory: () => ({ queue: 'x' }) as MadeHandlerOptions },
      '.useFactory.queue: expected this option in the decorator',
    ],
    [
      'an unknown option made',
      { useFactory: () => ({ tries: 1 }) as MadeHandlerOptions },
      '.tries: expected a known option',
    ],
    [
      'a bad value made',
      { useFactory: () => ({ concurrency: 0 }) },
      '.concurrency: expected a whole number from 1',
    ],
  ])('%s', async (_, source, message) => {
    @JobHandler(uniqueQueueName(), source)
    class Handler {
      handle() {}
    }
    const app = await compileApp({ providers: [Handler, Config] });
    const error: unknown = await app.init().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect((error as Error).message).toContain(message);
  });

  it.each<[string, JobHandlerOptionsSource, RegExp]>([
    [
      'what the factory throws',
      {
        useFactory: () => {
          throw new Error('no config');
        },
      },
      /no config/,
    ],
    ['a token that nobody provides', { inject: ['absent'], useFactory: () => ({}) }, /absent/],
    ['a scoped class', { optionsFrom: Scoped }, /scoped/],
  ])('%s', async (_, source, message) => {
    @JobHandler(uniqueQueueName(), source)
    class Handler {
      handle() {}
    }
    const app = await compileApp({ providers: [Handler, Scoped] });
    await expect(app.init()).rejects.toThrow(message);
  });
});
