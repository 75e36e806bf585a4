import { describe, expect, it, jest } from '@jest/globals';
import { Controller, Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Job, JobHandler, JobQueueModule, JobQueueService, type JobQueueModuleOptions } from 'nest-job-queue';
import { testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { KeptLog, startApp, handlerOf } from '../app.js';

@Injectable()
class Mailer {
  send(to: string) {
    return `sent to ${to}`;
  }
}

/** Makes a handler class with its own name and queue, so that tests do not affect each other. */
function emailHandler(name: string) {
  @JobHandler(name)
  class EmailHandler {
    constructor(readonly mailer: Mailer) {}

    handle(job: Job<{ to: string }>) {
      return this.mailer.send(job.payload.to);
    }
  }
  return EmailHandler;
}

describe('a handler', () => {
  it('is a class with handle, and gets its dependencies and the whole job', async () => {
    const name = uniqueQueueName();
    @JobHandler(name, { maxAttempts: 7 })
    class Handler {
      constructor(private readonly mailer: Mailer) {}

      handle({ payload, attempt, maxAttempts, queue, signal }: Job<{ to: string }>) {
        return { text: this.mailer.send(payload.to), attempt, maxAttempts, queue, aborted: signal.aborted };
      }
    }
    const app = await startApp({ providers: [Mailer, Handler] });
    const job = await app.get(JobQueueService).enqueue(name, { to: 'ada' });
    expect(job).toMatchObject({ name, queue: name, outcome: 'new' });
    expect(await job.result()).toEqual({
      text: 'sent to ada',
      attempt: 1,
      maxAttempts: 7,
      queue: name,
      aborted: false,
    });
  });

  it('is a method, several in one provider or in a controller', async () => {
    const [greet, count, inController] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName()];
    @Injectable()
    class SmallHandlers {
      private readonly greeting = 'hello';

      @JobHandler(greet)
      greet(job: Job<string>) {
        return `${this.greeting} ${job.payload}`;
      }

      @JobHandler(count)
      async count(job: Job<number[]>) {
        return Promise.resolve(job.payload.length);
      }
    }
    @Controller()
    class Controlled {
      @JobHandler(inController)
      run() {
        return 'controlled';
      }
    }
    const app = await startApp({ providers: [SmallHandlers], controllers: [Controlled] });
    const jobs = app.get(JobQueueService);
    expect(await (await jobs.enqueue(greet, 'ada')).result()).toBe('hello ada');
    expect(await (await jobs.enqueue(count, [1, 2])).result()).toBe(2);
    expect(await (await jobs.enqueue(inController, null)).result()).toBe('controlled');
  });

  it('may be made by a factory, sync or async, or be a value', async () => {
    const names = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName()] as const;
    const [first, second, third] = names.map(emailHandler) as [
      ReturnType<typeof emailHandler>,
      ReturnType<typeof emailHandler>,
      ReturnType<typeof emailHandler>,
    ];
    const app = await startApp({
      providers: [
        Mailer,
        { provide: 'FIRST', useFactory: (mailer: Mailer) => new first(mailer), inject: [Mailer] },
        { provide: second, useFactory: async () => Promise.resolve(new second(new Mailer())) },
        { provide: third, useValue: new third(new Mailer()) },
      ],
    });
    for (const name of names) {
      const job = await app.get(JobQueueService).enqueue(name, { to: 'ada' });
      expect(await job.result()).toBe('sent to ada');
    }
  });

  it('is one handler under an alias or a second token', async () => {
    const name = uniqueQueueName();
    const Handler = emailHandler(name);
    const app = await startApp({
      providers: [
        Mailer,
        Handler,
        { provide: 'ALIAS', useExisting: Handler },
        { provide: 'SAME', useFactory: (handler: object) => handler, inject: [Handler] },
      ],
    });
    const job = await app.get(JobQueueService).enqueue(name, { to: 'ada' });
    expect(await job.result()).toBe('sent to ada');
  });

  it('may bear several names, on the class and on a method', async () => {
    const [a, b, c, d] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName(), uniqueQueueName()];
    @JobHandler(a)
    @JobHandler(b)
    class Handler {
      handle(job: Job) {
        return job.name;
      }

      @JobHandler(c)
      @JobHandler(d)
      other(job: Job) {
        return `other ${job.name}`;
      }
    }
    const app = await startApp({ providers: [Handler] });
    const jobs = app.get(JobQueueService);
    const results = await Promise.all([a, b, c, d].map(async (name) => (await jobs.enqueue(name, null)).result()));
    expect(results).toEqual([a, b, `other ${c}`, `other ${d}`]);
  });

  it('is inherited by a subclass', async () => {
    const name = uniqueQueueName();
    const Base = emailHandler(name);
    @Injectable()
    class Loud extends Base {
      override handle(job: Job<{ to: string }>) {
        return super.handle(job).toUpperCase();
      }
    }
    const app = await startApp({
      providers: [Mailer, { provide: Loud, useFactory: () => new Loud(new Mailer()) }],
    });
    const job = await app.get(JobQueueService).enqueue(name, { to: 'ada' });
    expect(await job.result()).toBe('SENT TO ADA');
  });

  it('can be replaced in a test, as a provider or by a spy', async () => {
    const [replaced, spied] = [uniqueQueueName(), uniqueQueueName()];
    const [Replaced, Spied] = [emailHandler(replaced), emailHandler(spied)];
    const compiled = await Test.createTestingModule({
      imports: [JobQueueModule.forRoot({ redis: testRedisUrl() })],
      providers: [Mailer, Replaced, Spied],
    })
      .overrideProvider(Replaced)
      .useValue({ handle: () => 'replaced' })
      .setLogger(new KeptLog())
      .compile();
    await compiled.init();
    try {
      jest.spyOn(compiled.get(Spied), 'handle').mockReturnValue('spied');
      const jobs = compiled.get(JobQueueService);
      expect(await (await jobs.enqueue(replaced, {})).result()).toBe('replaced');
      expect(await (await jobs.enqueue(spied, {})).result()).toBe('spied');
    } finally {
      await compiled.close();
    }
  });

  it('sets attempts, timeout and keepResult for jobs that do not', async () => {
    const [once, slow, forgetful] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName()];
    @Injectable()
    class Handlers {
      @JobHandler(once, { maxAttempts: 1 })
      once(): never {
        throw new TypeError('no good');
      }

      @JobHandler(slow, { maxAttempts: 1, timeoutMs: 20 })
      slow({ signal }: Job) {
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        });
      }

      @JobHandler(forgetful, { keepResult: false })
      forget() {
        return 'a secret';
      }
    }
    const app = await startApp({ providers: [Handlers] });
    const jobs = app.get(JobQueueService);
    const failed = await jobs.enqueue(once, null);
    await expect(failed.result()).rejects.toMatchObject({ name: 'JobFailedError', attempts: 1, reason: 'no good' });
    const late = await jobs.enqueue(slow, null);
    await expect(late.result()).rejects.toMatchObject({ errorName: 'HandlerTimeoutError' });
    expect(await (await jobs.enqueue(forgetful, null)).result()).toBeUndefined();
  });
});

function sharing(queue: string) {
  const EmailHandler = handlerOf('email', () => 'mailed', { queue });
  const InvoiceHandler = handlerOf('invoice', () => 'invoiced', { queue });
  return [EmailHandler, InvoiceHandler];
}

describe('a shared queue', () => {
  it('dispatches by name, and enqueue finds it by the handler', async () => {
    const queue = uniqueQueueName('jobs');
    const app = await startApp({ providers: sharing(queue) });
    const jobs = app.get(JobQueueService);
    const [email, invoice] = [
      await jobs.enqueue('email', null),
      await jobs.enqueue('invoice', null, { priority: 1 }),
    ];
    expect([email.queue, email.name, invoice.queue, invoice.name]).toEqual([queue, 'email', queue, 'invoice']);
    expect([await email.result(), await invoice.result()]).toEqual(['mailed', 'invoiced']);
    const many = await jobs.enqueueMany('email', [{ payload: 1 }, { payload: 2, id: 'mine' }]);
    expect(await Promise.all(many.map((job) => job.result()))).toEqual(['mailed', 'mailed']);
    expect(many[1]!.id).toBe('mine');
    // Read by the job's name or by the queue's.
    expect(await jobs.result('email', 'mine')).toBe('mailed');
    expect(await jobs.get(queue, 'mine')).toMatchObject({ status: 'completed', name: 'email', payload: 2 });
    expect(await jobs.queue(queue).stats()).toMatchObject({ completed: 4, pending: 0 });
    expect(jobs.queueNames()).toEqual([queue]);
  });

  it('has its options from forRoot', async () => {
    const queue = uniqueQueueName('jobs');
    const options: JobQueueModuleOptions = {
      maxAttempts: 9,
      queues: { [queue]: { concurrency: 20, visibilityMs: 5_000 } },
    };
    const app = await startApp({ jobs: options, providers: sharing(queue) });
    expect(app.get(JobQueueService).queue(queue).options).toMatchObject({ maxAttempts: 9, visibilityMs: 5_000 });
  });

  it('is chosen by the option queue of one enqueue', async () => {
    const queue = uniqueQueueName('jobs');
    const elsewhere = uniqueQueueName('elsewhere');
    const app = await startApp({ providers: sharing(queue) });
    const job = await app.get(JobQueueService).enqueue('email', null, { queue: elsewhere });
    expect(job).toMatchObject({ queue: elsewhere, name: 'email' });
    expect(await app.get(JobQueueService).cancel(elsewhere, job.id)).toBe('cancelled');
  });
});

describe('the options of a queue', () => {
  it('go from forRoot.queues over the handler over forRoot', async () => {
    const [plain, own, configured] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName()];
    @Injectable()
    class Handlers {
      @JobHandler(plain)
      plain() {}

      @JobHandler(own, { visibilityMs: 2_000 })
      own() {}

      @JobHandler(configured, { visibilityMs: 2_000, concurrency: 5 })
      configured() {}
    }
    const app = await startApp({
      jobs: { visibilityMs: 1_000, queues: { [configured]: { visibilityMs: 3_000 } } },
      providers: [Handlers],
    });
    const options = [plain, own, configured].map((name) => app.get(JobQueueService).queue(name).options);
    expect(options.map(({ visibilityMs }) => visibilityMs)).toEqual([1_000, 2_000, 3_000]);
  });

  it.each(['handler', 'forRoot'])('say how many jobs a process prefetches, in the %s', async (where) => {
    const [name, finish] = [uniqueQueueName(), gate()];
    @JobHandler(name, { concurrency: 1, prefetch: where === 'handler' ? 2 : 9 })
    class Handler {
      handle = () => finish.promise;
    }
    const app = await startApp({
      jobs: where === 'handler' ? {} : { queues: { [name]: { prefetch: 2 } } },
      providers: [Handler],
    });
    const jobs = app.get(JobQueueService);
    const handles = await jobs.enqueueMany(
      name,
      Array.from({ length: 6 }, (_, payload) => ({ payload })),
    );
    await eventually(async () => (await jobs.queue(name).stats()).processing === 3);
    expect(await jobs.queue(name).stats()).toMatchObject({ processing: 3, pending: 3 });
    finish.open();
    await Promise.all(handles.map((handle) => handle.result()));
  });

  it('bound the jobs that run at once: by queue, and by process over all queues', async () => {
    const [one, two] = [uniqueQueueName(), uniqueQueueName()];
    let running = 0;
    const most: Record<string, number> = { [one]: 0, all: 0 };
    const perQueue: Record<string, number> = { [one]: 0, [two]: 0 };
    const run = async ({ name }: Job) => {
      most.all = Math.max(most.all!, ++running);
      most[name] = Math.max(most[name] ?? 0, ++perQueue[name]!);
      await new Promise((resolve) => setImmediate(resolve));
      perQueue[name]!--;
      running--;
    };
    @Injectable()
    class Handlers {
      @JobHandler(one, { concurrency: 2 })
      one(job: Job) {
        return run(job);
      }

      @JobHandler(two, { concurrency: 8 })
      two(job: Job) {
        return run(job);
      }
    }
    const app = await startApp({ jobs: { concurrency: 3 }, providers: [Handlers] });
    const jobs = app.get(JobQueueService);
    const payloads = Array.from({ length: 40 }, (_, payload) => ({ payload }));
    const handles = [...(await jobs.enqueueMany(one, payloads)), ...(await jobs.enqueueMany(two, payloads))];
    await Promise.all(handles.map((handle) => handle.result()));
    expect(most[one]).toBeLessThanOrEqual(2);
    expect(most.all).toBeLessThanOrEqual(3);
  });
});
