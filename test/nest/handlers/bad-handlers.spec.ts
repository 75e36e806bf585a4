import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, type Provider } from '@nestjs/common';
import {
  InvalidOptionError,
  JobHandler,
  JobQueueService,
  OnJobFailed,
  type JobHandlerOptions,
} from 'nest-job-queue';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp } from '../app.js';

/** Returns the error with which an app with these providers fails to boot. */
async function bootError(providers: Provider[], imports: object[] = []): Promise<InvalidOptionError> {
  const app = await compileApp({ providers, imports: imports as [] });
  const error: unknown = await app.init().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(InvalidOptionError);
  return error as InvalidOptionError;
}

function handler(name: string, options?: unknown) {
  @JobHandler(name, options as JobHandlerOptions)
  class EmailHandler {
    handle() {}
  }
  return EmailHandler;
}

describe('the app does not boot with', () => {
  it('a name bound twice in a queue', async () => {
    @Injectable()
    class Handlers {
      @JobHandler('email')
      first() {}

      @JobHandler('email')
      second() {}
    }
    const error = await bootError([Handlers]);
    expect(error.message).toBe(
      `@JobHandler("email") on Handlers.second: expected one handler of "email" in queue "email", found another one, ` +
        `@JobHandler("email") on Handlers.first. Is a class provided in two modules? Provide it in one and export it.`,
    );
  });

  it('a handler provided in two modules', async () => {
    const EmailHandler = handler('email');
    @Module({ providers: [EmailHandler] })
    class MailModule {}
    const error = await bootError([EmailHandler], [MailModule]);
    expect(error.message).toContain('Provide it in one and export it');
  });

  it('a name that no queue can have', async () => {
    const error = await bootError([handler('send email')]);
    expect(error.message).toBe(
      'queue name of @JobHandler("send email") on EmailHandler.handle: ' +
        'expected 1 to 128 of A-Z a-z 0-9 _ . : @ / -, found "send email".',
    );
  });

  it('a pattern in the place of a name, which would get no job', async () => {
    const error = await bootError([handler('*', { queue: 'jobs' })]);
    expect(error.message).toBe(
      'job name of @JobHandler("*") on EmailHandler.handle: expected the name of the jobs, not a pattern, found "*". ' +
        'A handler serves one name: decorate it once for each name, or by @JobHandler({ queue }) for all names.',
    );
    class Failures {
      @OnJobFailed('mail.*', { queue: 'jobs' })
      failed() {}
    }
    expect((await bootError([Failures])).message).toContain(
      'expected the name of the jobs, not a pattern, found "mail.*"',
    );
  });

  it('no name', async () => {
    const error = await bootError([handler(undefined as never)]);
    expect(error.message).toMatch(
      /^job name of @JobHandler\(.*\) on EmailHandler.handle: expected text of 1 to 256/,
    );
  });

  it('a class without handle', async () => {
    @JobHandler('email')
    class EmailHandler {
      run() {}
    }
    const error = await bootError([EmailHandler]);
    expect(error.message).toBe(
      '@JobHandler("email") on EmailHandler.handle: expected a method handle(job), found undefined. Rename run to handle.',
    );
  });

  it('a class whose only methods are hooks of Nest, and a getter', async () => {
    @JobHandler('email')
    class EmailHandler {
      onModuleInit() {}
    }
    @JobHandler('text')
    class TextHandler {
      get service() {
        return 5;
      }
    }
    for (const handlerClass of [EmailHandler, TextHandler]) {
      expect((await bootError([handlerClass])).message).toMatch(/a method handle\(job\), found undefined\.$/);
    }
  });

  it('the name of a job as an option', async () => {
    const error = await bootError([handler({ name: 'email' } as never)]);
    expect(error.message).toContain(
      "expected a queue's name, found none. For one name write @JobHandler('email', { … })",
    );
  });

  it('a factory that makes something without handle in the place of a handler', async () => {
    const error = await bootError([{ provide: handler('email'), useFactory: () => ({}) }]);
    expect(error.message).toContain('expected a method handle(job), found undefined');
  });

  it.each<[string, unknown, string]>([
    [
      'an unknown option',
      { concurency: 5 },
      '.concurency: expected a known option, found "concurency". Did you mean concurrency?',
    ],
    [
      'no concurrency at all',
      { concurrency: 0 },
      '.concurrency: expected a whole number from 1 to 100000, found 0.',
    ],
    ['a prefetch without an end', { prefetch: Infinity }, '.prefetch: expected a whole number from 0 to 1000'],
    [
      'a negative timeout',
      { timeoutMs: -1 },
      '.timeoutMs: expected a whole number from 1 to 2147483647 ms, found -1.',
    ],
    ['no attempts', { maxAttempts: 0 }, '.maxAttempts: expected a whole number from 1 to 1000, found 0.'],
    [
      'a visibility timeout that is text',
      { visibilityMs: '5s' },
      '.visibilityMs: expected a whole number from 100 to 31536000000 ms, found "5s".',
    ],
    [
      'a bad backoff',
      { backoff: { type: 'linear', delayMs: 5 } },
      ".backoff.type: expected 'fixed' or 'exponential', found \"linear\".",
    ],
    [
      'a backoff in the words of BullMQ',
      { backoff: { type: 'exponential', delay: 5 } },
      '.backoff.delay: expected a known option, found "delay". Did you mean delayMs?',
    ],
    [
      'the option of another library for attempts',
      { retry: 5 },
      '.retry: expected a known option, found "retry". Did you mean maxAttempts?',
    ],
    [
      'an option of jobs',
      { priority: 5 },
      '.priority: expected a known option, found "priority". A job has its priority from the enqueue, or from the defaults of defineJob.',
    ],
    ['options that are no object', 5, ': expected an object of handler options, found 5.'],
  ])('%s', async (_, options, message) => {
    const error = await bootError([handler('email', options)]);
    expect(error.message).toContain('@JobHandler("email") on EmailHandler.handle');
    expect(error.message).toContain(message);
  });

  it.each([
    ['with white space', 'send mail'],
    ['with braces', '{email}'],
    ['without a letter', ''],
  ])('a name %s', async (_, name) => {
    const error = await bootError([handler(name)]);
    expect(error.message).toMatch(/expected .*1 to (128|256)/);
  });

  it.each(['concurrency', 'prefetch', 'visibilityMs'])('%s on a handler of a shared queue', async (option) => {
    const error = await bootError([handler('email', { queue: 'jobs', [option]: 500 })]);
    expect(error.message).toBe(
      `@JobHandler("email") on EmailHandler.handle.${option}: expected no option of the shared queue "jobs" on one of ` +
        `its handlers, found 500. Set it on the queue: JobQueueModule.forRoot({ queues: { "jobs": { ${option}: … } } }).`,
    );
  });

  it('concurrency on a handler whose queue another one shares', async () => {
    const error = await bootError([handler('jobs', { concurrency: 5 }), handler('email', { queue: 'jobs' })]);
    expect(error.message).toContain('the shared queue "jobs"');
  });
});

describe('@JobHandler refuses', () => {
  it('a static method', () => {
    expect(() => {
      class Handlers {
        @JobHandler('email')
        static run() {}
      }
      return Handlers;
    }).toThrow('@JobHandler("email"): expected a class or an instance method, found the static method run.');
  });

  it('a property', () => {
    expect(() => {
      class Handlers {
        // @ts-expect-error -- the compiler refuses it too
        @JobHandler('email')
        run = () => undefined;
      }
      return Handlers;
    }).toThrow('found the property run');
  });
});

it('an enqueue that could mean two queues is refused, unless it says which', async () => {
  const [a, b] = [uniqueQueueName(), uniqueQueueName()];
  const app = await compileApp({ providers: [handler('email', { queue: a }), handler('email', { queue: b })] });
  await app.init();
  const jobs = app.get(JobQueueService);
  await expect(jobs.enqueue('email', null)).rejects.toThrow('expected the option queue, since handlers');
  expect((await jobs.enqueue('email', null, { queue: b })).queue).toBe(b);
});
