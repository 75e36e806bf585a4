// Several Redis servers in one app, each a forRoot with a name.
import { Injectable } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { describe, expect, it } from '@jest/globals';
import {
  getQueueToken,
  InjectJobQueueService,
  InjectQueue,
  JobQueue,
  JobQueueModule,
  JobQueueService,
  MAINTENANCE_CRON_JOB,
  OnJobEvent,
  type WorkerEvent,
} from 'nest-job-queue';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, testRedisUrl, uniqueQueueName } from '../../support/redis/redis.js';
import { compileApp, KeptLog, startApp, handlerOf } from '../app.js';
import { eventually } from '../../support/faults/wait.js';

/** Makes a handler of a name on a connection; it returns the connection. */
function handlerOn(name: string, connection?: string) {
  const Handler = handlerOf(name, () => connection ?? 'default', { connection });
  return Handler;
}

describe('two servers', () => {
  it('each have their queues, handlers, service, events and maintenance', async () => {
    const billing = await startOwnRedis();
    const name = uniqueQueueName();
    const ended: string[] = [];
    @Injectable()
    class Both {
      constructor(
        @InjectQueue(name) readonly here: JobQueue,
        @InjectQueue(name, 'billing') readonly there: JobQueue,
        readonly jobs: JobQueueService,
        @InjectJobQueueService('billing') readonly billingJobs: JobQueueService,
      ) {}

      @OnJobEvent('completed', { name })
      completed({ job }: WorkerEvent) {
        ended.push(job.id);
      }
    }
    const log = new KeptLog();
    const app = await startApp({
      imports: [JobQueueModule.forRoot({ name: 'billing', redis: billing.url }), ScheduleModule.forRoot()],
      providers: [handlerOn(name), handlerOn(name, 'billing'), Both],
      log,
    });
    const { here, there, jobs, billingJobs } = app.get(Both);
    expect(app.get(JobQueueService)).toBe(jobs);
    expect(here).toBe(jobs.queue(name));
    expect(there).toBe(billingJobs.queue(name));
    expect(app.get<JobQueue>(getQueueToken(name, 'billing'))).toBe(there);
    const [one, other] = [await here.enqueue({}), await billingJobs.enqueue(name, {})];
    expect([await one.result(), await other.result()]).toEqual(['default', 'billing']);
    expect(await there.get(one.id)).toBeNull();
    expect(ended.toSorted()).toEqual([one.id, other.id].toSorted());
    const crons = [...app.get(SchedulerRegistry, { strict: false }).getCronJobs().keys()];
    expect(crons).toEqual(expect.arrayContaining([MAINTENANCE_CRON_JOB, `${MAINTENANCE_CRON_JOB}:billing`]));
    await app.close();
    expect(log.lines.filter((line) => /^(warn|error)/.test(line) && !line.includes('persistence'))).toEqual([]);
  });

  it('take two connections each, with ten queues and ten handlers', async () => {
    const servers = [await startOwnRedis(), await startOwnRedis()];
    const names = Array.from({ length: 10 }, () => uniqueQueueName());
    const providers = names.flatMap((name, i) => [handlerOn(name, i % 2 === 0 ? undefined : 'billing')]);
    const app = await startApp({
      module: JobQueueModule.forRoot({ redis: servers[0]!.url }),
      imports: [JobQueueModule.forRoot({ name: 'billing', redis: servers[1]!.url })],
      providers,
    });
    const services = [
      app.get(JobQueueService),
      app.get<JobQueueService>("service of JobQueueModule.forRoot({ name: 'billing' })"),
    ];
    const jobs = await Promise.all(names.map((name, i) => services[i % 2]!.enqueue(name, {})));
    // Asked of the stored jobs: a wait for results would open a connection for events.
    const isDone = async (i: number) =>
      (await services[i % 2]!.get(names[i]!, jobs[i]!.id))?.status === 'completed';
    for (const i of names.keys()) await eventually(() => isDone(i));
    for (const { url } of servers) {
      const clients = String(await connect({}, url).client('LIST'));
      const ours = clients.split('\n').filter((line) => /name=nest-job-queue/.test(line));
      expect(ours).toHaveLength(2);
    }
  });

  it('keep the other at work while one is away', async () => {
    const billing = await startOwnRedis();
    const name = uniqueQueueName();
    const app = await startApp({
      imports: [JobQueueModule.forRoot({ name: 'billing', redis: billing.url })],
      providers: [handlerOn(name), handlerOn(name, 'billing')],
    });
    await billing.stop();
    expect(await (await app.get(JobQueueService).enqueue(name, {})).result()).toBe('default');
  });
});

describe('the app does not boot with', () => {
  it('a handler of a connection that is not there', async () => {
    const app = await compileApp({ providers: [handlerOn(uniqueQueueName(), 'biling')] });
    await expect(app.init()).rejects.toThrow(
      'Handler.handle.connection: expected the name of a JobQueueModule.forRoot: default, found "biling".',
    );
  });

  it('two connections of one name', async () => {
    const imports = ['first', 'second'].map(() =>
      JobQueueModule.forRoot({ name: 'billing', redis: testRedisUrl() }),
    );
    await expect(compileApp({ imports })).rejects.toThrow(
      'expected to be imported once in an app, found two imports of the name "billing", in RootTestModule',
    );
  });

  it('a name that is none', () => {
    expect(() => JobQueueModule.forRoot({ name: 'my billing' })).toThrow(
      'JobQueueModule.forRoot.name: expected 1 to 64 of A-Z a-z 0-9 _ -, found "my billing".',
    );
    expect(() => InjectQueue('invoice', 'my billing')).toThrow('connection: expected 1 to 64');
  });
});
