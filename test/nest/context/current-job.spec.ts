// The log: three lines at boot, and by option the job at the front of each line of its handler.
import { Injectable, Logger } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  currentJob,
  getJobQueueServiceToken,
  JobHandler,
  JobQueueModule,
  JobQueueService,
  type Job,
} from 'nest-job-queue';
import { addressOf } from '#queue/redis/address.js';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, handlerOf, KeptLog, startApp } from '../app.js';

async function bootLines(app: Parameters<typeof startApp>[0]): Promise<string[]> {
  const log = new KeptLog();
  await startApp({ ...app, log });
  return log.lines.filter((line) => /Redis: |Worker|Maintenance/.test(line));
}

describe('the boot', () => {
  it('says in three lines which Redis, which handlers, and who maintains', async () => {
    const [name, shared] = [uniqueQueueName('email'), uniqueQueueName('jobs')];
    @Injectable()
    class Handlers {
      @JobHandler('invoice', { queue: shared })
      invoice() {}

      @JobHandler('thumbnail', { queue: shared })
      thumbnail() {}
    }
    const address = addressOf(connect());
    expect(
      await bootLines({
        jobs: { queues: { [shared]: { concurrency: 20 } } },
        providers: [handlerOf(name), Handlers],
      }),
    ).toEqual([
      `log Redis: ${address}, keys begin with "queue:"`,
      expect.stringMatching(
        new RegExp(
          `^log Worker \\S+ serves ${name} ×10, ${shared} ×20 \\(invoice, thumbnail\\); 30 at once in this process$`,
        ),
      ),
      'log Maintenance: this process, every 5000 ms',
    ]);
  });

  it('says it of a producer', async () => {
    const maintenance = { cron: '*/10 * * * * *', timeZone: 'Europe/Berlin' };
    expect((await bootLines({ jobs: { maintenance } })).slice(1)).toEqual([
      'log Worker: none, this process has no handlers',
      'log Maintenance: this process, at */10 * * * * * (Europe/Berlin)',
    ]);
    const jobs = { worker: false, maintenance: false } as const;
    expect((await bootLines({ jobs, providers: [handlerOf(uniqueQueueName())] })).slice(1)).toEqual([
      'log Worker: none, worker is false',
      'log Maintenance: not by this process; another one must do it',
    ]);
  });
});

describe('currentJob', () => {
  @Injectable()
  class Mailer {
    private readonly logger = new Logger('Mailer');

    async send(message: unknown) {
      await new Promise((resolve) => setImmediate(resolve));
      this.logger.log(message);
      return currentJob()?.id;
    }
  }
  function mailHandler(name: string) {
    @JobHandler(name)
    class Handler {
      constructor(private readonly mailer: Mailer) {}

      handle(job: Job) {
        return this.mailer.send(job.payload);
      }
    }
    return Handler;
  }
  const before = new KeptLog();
  afterEach(() => Logger.overrideLogger(before));

  it('is unknown by default', async () => {
    const name = uniqueQueueName();
    const app = await startApp({ providers: [mailHandler(name), Mailer] });
    const job = await app.get(JobQueueService).enqueue(name, 'hello');
    expect(await job.result()).toBeUndefined();
  });

  it('is the job of each handler, also among many, and none outside', async () => {
    const name = uniqueQueueName();
    const app = await startApp({ jobs: { currentJob: true }, providers: [mailHandler(name), Mailer] });
    const jobs = await app.get(JobQueueService).enqueueMany(
      name,
      Array.from({ length: 30 }, () => ({ payload: 'hello' })),
    );
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual(jobs.map(({ id }) => id));
    expect(currentJob()).toBeUndefined();
  });

  it('is known to middleware', async () => {
    const name = uniqueQueueName();
    const middleware = [{ attempt: (job: Job) => currentJob() === job }];
    const app = await startApp({ jobs: { currentJob: true, middleware }, providers: [handlerOf(name)] });
    expect(await (await app.get(JobQueueService).enqueue(name, {})).result()).toBe(true);
  });

  it('is in front of each line with logContext, and nowhere else', async () => {
    const name = uniqueQueueName();
    const log = new KeptLog();
    const seen: unknown[] = [];
    log.log = (message) => seen.push(message);
    const app = await startApp({ jobs: { logContext: true }, providers: [mailHandler(name), Mailer], log });
    const jobs = app.get(JobQueueService);
    const text = await jobs.enqueue(name, 'hello');
    await text.result();
    const object = await jobs.enqueue(name, { event: 'sent' });
    await object.result();
    new Logger('Elsewhere').log('no job');
    expect(seen).toContain(`[job ${text.id} ${name} of ${name}, attempt 1] hello`);
    expect(seen).toContainEqual({ event: 'sent', job: { id: object.id, name, queue: name, attempt: 1 } });
    expect(seen).toContain('no job');
  });

  it('is said in words of your own, and the app has its logger back when it closes', async () => {
    const name = uniqueQueueName();
    const log = new KeptLog();
    const jobs = { logContext: (job: Job) => `[${job.metadata.requestId}]` };
    const app = await startApp({ jobs, providers: [mailHandler(name), Mailer], log });
    const job = await app.get(JobQueueService).enqueue(name, 'hello', { metadata: { requestId: 'r-1' } });
    await job.result();
    expect(log.lines).toContain('log [r-1] hello');
    await app.close();
    new Logger('After').log('closed');
    expect(log.lines).toContain('log closed');
  });

  it('refuses a bad option', async () => {
    await expect(compileApp({ jobs: { logContext: 'yes' as never } })).rejects.toThrow(
      'JobQueueModule.forRoot.logContext: expected true, false or a function of a job, found "yes".',
    );
  });
});

describe('logContext', () => {
  it('hides redacted fields and their values in the log lines of a handler', async () => {
    const name = uniqueQueueName();
    const log = new KeptLog();
    const objects: unknown[] = [];
    log.warn = (message: unknown, ...rest: unknown[]) => void objects.push(message, ...rest);
    @JobHandler(name)
    class Handler {
      private readonly logger = new Logger('Handler');

      handle({ payload }: Job<{ iban: string }>) {
        this.logger.log(`pays ${payload.iban}`);
        this.logger.warn({ payload, at: 1 });
        this.logger.warn(new TypeError(payload.iban));
      }
    }
    const jobs = { audit: 'off', logContext: () => 'J', queues: { [name]: { redact: ['iban'] } } } as const;
    const app = await startApp({ jobs, providers: [Handler], log });
    const job = await app.get(JobQueueService).enqueue(name, { iban: 'DE02-1203' });
    await job.result();
    expect(log.lines).toContain('log J pays [redacted]');
    expect(objects[0]).toMatchObject({ payload: { iban: '[redacted]' }, at: 1, job: { id: job.id } });
    expect(objects).toContainEqual(expect.objectContaining({ message: '[redacted]' }));
    expect(JSON.stringify([log.lines, objects.map((each) => (each as Error).stack)])).not.toContain('DE02-1203');
  });

  it('puts one job in front, in an app with two connections', async () => {
    const [name, other] = [uniqueQueueName(), uniqueQueueName()];
    const log = new KeptLog();
    const logger = new Logger('Handler');
    @Injectable()
    class Handlers {
      @JobHandler(name)
      first() {
        logger.log('ran');
      }

      @JobHandler(other, { connection: 'billing' })
      second() {
        logger.log('ran');
      }
    }
    const app = await startApp({
      jobs: { logContext: () => 'FIRST' },
      imports: [JobQueueModule.forRoot({ name: 'billing', redis: testRedisUrl(), logContext: () => 'SECOND' })],
      providers: [Handlers],
      log,
    });
    await (await app.get(JobQueueService).enqueue(name, {})).result();
    await (await app.get<JobQueueService>(getJobQueueServiceToken('billing')).enqueue(other, {})).result();
    expect(log.lines.filter((line) => line.endsWith('ran'))).toEqual(['log FIRST ran', 'log SECOND ran']);
  });
});
