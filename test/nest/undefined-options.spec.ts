// An option that is undefined is absent, as the types say: `forRoot({ redis: process.env.REDIS_URL })`.
import { expect, it } from '@jest/globals';
import { JobHandler, JobQueueModule, JobQueueService, RecurringJob, redisAccess, type Job } from 'nest-job-queue';
import { JobQueueDashboardModule } from 'nest-job-queue/dashboard';
import { queueOptionFields } from '#queue/model/queue-options.js';
import { jobOptionsAt } from '#queue/model/job-options.js';
import { resolveRunWorkersOptions } from '#processes/options.js';
import { resolveModuleOptions } from '#nest/job-queue.options.js';
import { rowsOf } from '../docs/table.js';
import { testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';
import { startApp } from './app.js';

/** Returns an object whose fields of these names are undefined. */
function absent(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

/** Returns the names of a table of options. */
function namesOf(mark: string): string[] {
  return rowsOf(mark, 'docs/options.md')
    .slice(2)
    .flatMap(([names]) => [...names!.matchAll(/`(\w+)`/g)].map(([, name]) => name!));
}

const QUEUE = Object.keys(queueOptionFields);
const OF_HANDLER = [
  'queue',
  'connection',
  'concurrency',
  'prefetch',
  'visibilityMs',
  'bulk',
  'thread',
  'maxRunning',
  'rateLimit',
  'groups',
  'maxPending',
  'maxPendingBytes',
];

it('resolves undefined options of the module, and of worker processes, as absent ones', () => {
  const module = absent([...namesOf('module options'), ...QUEUE]);
  expect(resolveModuleOptions(module)).toEqual(resolveModuleOptions({}));
  const processes = absent(namesOf('worker process options'));
  expect(resolveRunWorkersOptions(processes)).toEqual(resolveRunWorkersOptions({}));
});

it('runs jobs whose options are undefined in each place', async () => {
  process.env.REDIS_URL = testRedisUrl();
  const name = uniqueQueueName();

  @JobHandler(name, absent([...jobOptionsAt('handler'), ...OF_HANDLER]))
  @RecurringJob(
    { cron: '0 3 * * *', ...absent(['timeZone', 'startAt', 'endAt', 'limit', 'jitterMs']) },
    absent(namesOf('schedule options')),
  )
  class Handler {
    handle(job: Job<{ to: string }>) {
      return job.payload.to;
    }
  }

  const app = await startApp({
    module: JobQueueModule.forRoot(absent([...namesOf('module options'), ...QUEUE, 'isGlobal', 'name'])),
    imports: [JobQueueDashboardModule.forRoot(absent(namesOf('dashboard options')))],
    providers: [Handler],
  });
  const jobs = app.get(JobQueueService);
  const options = absent(
    [...jobOptionsAt('enqueue'), 'queue', 'transaction', 'ordered'].filter((key) => key !== 'name'),
  );
  const job = await jobs.enqueue(name, { to: 'ada' }, options);
  expect(await job.result({ timeoutMs: undefined })).toBe('ada');
});

it('connects with its own settings where options of ioredis are undefined', async () => {
  const { hostname: host, port } = new URL(testRedisUrl());
  const redis = {
    host,
    port: Number(port),
    ...absent(['connectionName', 'maxRetriesPerRequest', 'retryStrategy']),
  };
  const app = await startApp({ jobs: { redis } });
  const { client } = await redisAccess(app.get(JobQueueService).queue(uniqueQueueName()));
  expect(client.options).toMatchObject({ connectionName: 'nest-job-queue', maxRetriesPerRequest: null });
});
