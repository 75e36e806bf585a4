/** @jest-environment ./test/support/own-environment.mjs */

// The places of the testing module: instead of JobQueueModule, by overrideModule, beside an app, without a server.
import { describe, expect, it, jest } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  getJobQueueServiceToken,
  InjectQueue,
  JobHandler,
  JobQueue,
  JobQueueModule,
  JobQueueService,
  type Job,
} from 'nest-job-queue';
import { JobQueueTesting, JobQueueTestingModule } from 'nest-job-queue/testing';
import { KeptLog, handlerOf } from '../../nest/app.js';
import { started, startTested } from './app.js';

const sent: string[] = [];
const rightsOfApp = { redis: 'redis://127.0.0.1:1', maxAttempts: 7 };

@JobHandler('email')
class EmailHandler {
  handle({ payload, maxAttempts }: Job<{ to: string }>) {
    sent.push(payload.to);
    return { maxAttempts };
  }
}

@Injectable()
class SignUp {
  constructor(
    private readonly jobs: JobQueueService,
    @InjectQueue('audit') readonly audit: JobQueue,
  ) {}

  async signUp(to: string) {
    await this.audit.enqueue({ to });
    return this.jobs.enqueue<{ maxAttempts: number }>('email', { to });
  }
}

const Jobs = JobQueueModule.forRoot(rightsOfApp);

@Module({ imports: [Jobs], providers: [SignUp, EmailHandler] })
class AppModule {}

describe('the testing module', () => {
  it('replaces JobQueueModule by overrideModule, with options of its own', async () => {
    const builder = Test.createTestingModule({ imports: [AppModule] })
      .overrideModule(Jobs)
      .useModule(JobQueueTestingModule.forTest({ maxAttempts: 3 }));
    const { testing, moduleRef } = await started(await builder.setLogger(new KeptLog()).compile());
    const job = await moduleRef.get(SignUp).signUp('ada');
    await testing.drain();
    expect(await job.result()).toEqual({ maxAttempts: 3 });
    expect(testing.enqueued().map(({ queue }) => queue)).toEqual(['audit', 'email']);
  });

  it('puts the queues of an app in memory, whose options stay', async () => {
    const imports = [AppModule, JobQueueTestingModule.forApp()];
    const { testing, moduleRef } = await started(
      await Test.createTestingModule({ imports }).setLogger(new KeptLog()).compile(),
    );
    const job = await moduleRef.get(SignUp).signUp('bob');
    await testing.drain();
    expect(await job.result()).toEqual({ maxAttempts: 7 });
    expect(sent).toContain('bob');
  });

  it('keeps the servers of an app apart, and drains all of them', async () => {
    const ran: string[] = [];
    const Invoices = handlerOf('invoice', ({ payload }: Job<string>) => void ran.push(payload), {
      connection: 'billing',
    });
    const imports = [
      JobQueueModule.forRoot(),
      JobQueueModule.forRoot({ name: 'billing', redis: 'redis://127.0.0.1:1' }),
      JobQueueTestingModule.forApp(),
    ];
    const compiled = Test.createTestingModule({ imports, providers: [Invoices, EmailHandler] });
    const { testing, moduleRef } = await started(await compiled.setLogger(new KeptLog()).compile());
    await moduleRef.get<JobQueueService>(getJobQueueServiceToken('billing')).enqueue('invoice', 'no. 1');
    await moduleRef.get(JobQueueService).enqueue('email', { to: 'ada' });
    expect(await testing.drain()).toMatchObject({ completed: 2 });
    expect(ran).toEqual(['no. 1']);
  });

  it('records jobs before the start, and a drain then names the missing call', async () => {
    const moduleRef = await Test.createTestingModule({
      imports: [JobQueueTestingModule.forTest()],
      providers: [SignUp, EmailHandler],
    }).compile();
    await moduleRef.get(SignUp).signUp('eve');
    const testing = moduleRef.get(JobQueueTesting);
    expect(testing.enqueued('email')).toMatchObject([{ name: 'email', queue: 'email', payload: { to: 'eve' } }]);
    await expect(testing.drain()).rejects.toThrow('Call `await moduleRef.init()` after compile()');
    testing.clear();
    expect(testing.enqueued()).toEqual([]);
  });

  it('records the options of each enqueue, and leaves out one that a key refused', async () => {
    const { testing, jobs } = await startTested({ providers: [EmailHandler] });
    jobs.pauseWorker();
    const unique = { key: 'ada', for: 'unfinished' } as const;
    await jobs.enqueue(
      'email',
      { to: 'ada' },
      { delayMs: 5_000, priority: 3, unique, metadata: { request: 'r1' } },
    );
    await jobs.enqueue('email', { to: 'ada' }, { unique });
    const runAt = new Date(Date.now() + 60_000);
    await jobs.enqueue('email', { to: 'bob' }, { runAt, timeoutMs: 9, id: 'b' });
    expect(testing.enqueued('email').map(({ options }) => options)).toEqual([
      { delayMs: 5_000, priority: 3, unique, metadata: { request: 'r1' } },
      { runAt, timeoutMs: 9, id: 'b' },
    ]);
  });

  it.each(['legacy', 'modern'] as const)('works under fake timers (%s)', async (kind) => {
    jest.useFakeTimers(kind === 'legacy' ? { legacyFakeTimers: true } : {});
    try {
      const { testing, jobs, moduleRef } = await startTested({ providers: [EmailHandler] });
      const soon = await jobs.enqueue('email', { to: 'now' });
      const later = await jobs.enqueue('email', { to: 'later' }, { delayMs: 60_000 });
      await testing.drain();
      expect(await soon.result()).toMatchObject({});
      await testing.advance(61_000);
      expect(await later.get()).toMatchObject({ status: 'completed' });
      await moduleRef.close();
    } finally {
      jest.useRealTimers();
    }
  });

  it('stops an app whose handler still runs, in the time of its clock', async () => {
    let aborted: unknown;
    @JobHandler('slow')
    class Slow {
      async handle({ signal }: Job) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        aborted = signal.reason;
      }
    }
    const { moduleRef, jobs } = await startTested({ providers: [Slow] });
    await jobs.enqueue('slow', {});
    await new Promise((resolve) => setImmediate(resolve));
    await moduleRef.close();
    expect(aborted).toMatchObject({ name: 'ShutdownError' });
  });
});
