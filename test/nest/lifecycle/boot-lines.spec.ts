// The lines that an app logs at its boot.
import { afterEach, expect, it } from '@jest/globals';
import { JobQueueModule } from 'nest-job-queue';
import { testRedisUrl } from '../../support/redis/redis.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { KeptLog, handlerOf, startApp } from '../app.js';

const { NODE_ENV, REDIS_URL } = process.env;

afterEach(() => {
  Object.assign(process.env, { NODE_ENV, REDIS_URL });
  if (NODE_ENV === undefined) delete process.env.NODE_ENV;
  if (REDIS_URL === undefined) delete process.env.REDIS_URL;
});

it.each([
  ['the sum of the queues', undefined, '; 25 at once in this process'],
  ['the limit of the process', 12, '; 12 at once in this process'],
])('say how many jobs run at once: %s', async (_, concurrency, end) => {
  const [one, two] = [uniqueQueueName(), uniqueQueueName()];
  const log = new KeptLog();
  const jobs = { queues: { [one]: { concurrency: 20 }, [two]: { concurrency: 5 } }, concurrency };
  await startApp({ log, jobs, providers: [handlerOf(one), handlerOf(two)] });
  expect(log.lines.find((line) => line.includes(' serves '))).toContain(end);
});

it.each([
  [undefined, 'Neither redis nor REDIS_URL is set'],
  ['', 'REDIS_URL is empty, and redis is not set'],
])('warn in production of a Redis that no option sets: REDIS_URL %p', async (url, words) => {
  Object.assign(process.env, { NODE_ENV: 'production', REDIS_URL: url });
  if (url === undefined) delete process.env.REDIS_URL;
  const log = new KeptLog();
  await startApp({ log, module: JobQueueModule.forRoot({ maintenance: false }) });
  expect(
    log.lines.filter((line) => line.startsWith(`warn ${words}, although NODE_ENV is production.`)),
  ).toHaveLength(1);
});

it.each([
  ['in production with `redis`', 'production', () => ({ redis: testRedisUrl() })],
  ['in production with REDIS_URL', 'production', () => ({})],
  ['elsewhere', 'test', () => ({})],
])('do not warn %s', async (_, env, options) => {
  Object.assign(process.env, { NODE_ENV: env, REDIS_URL: env === 'test' ? '' : testRedisUrl() });
  const log = new KeptLog();
  await startApp({ log, module: JobQueueModule.forRoot({ maintenance: false, ...options() }) });
  expect(log.lines.filter((line) => line.includes('NODE_ENV'))).toEqual([]);
});
