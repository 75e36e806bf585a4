// Passwords, however they are given, are in nothing that is logged, printed, thrown or reported.
import { inspect } from 'node:util';
import { beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import {
  Job,
  JobHandler,
  JobQueue,
  JobQueueModule,
  JobQueueService,
  type JobQueueModuleOptions,
} from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { compileApp, KeptLog, startApp } from '../nest/app.js';
import { failure } from '../support/faults/failure.js';
import { startOwnRedis, type OwnRedis } from '../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { kept } from '../support/redis/replicas.js';
import { eventually, gate } from '../support/faults/wait.js';

/** The given password, and the password of the server: neither may be shown. */
const [SECRET, WANTED] = ['top-secret-1', 'top-secret-2'];

const printed: unknown[] = [];
beforeEach(() => {
  printed.length = 0;
  for (const method of ['log', 'warn', 'error', 'info', 'debug'] as const) {
    jest.spyOn(console, method).mockImplementation((...args) => void printed.push(args));
  }
});
let server: OwnRedis;
beforeAll(async () => {
  server = await startOwnRedis({ args: ['--requirepass', WANTED] });
  await admin().call('ACL', 'SETUSER', 'app', 'on', `>${WANTED}`, '~*', '&*', '+@all');
});
const admin = () => connect({ password: WANTED }, server.url);
const grant = (password: string) => admin().call('ACL', 'SETUSER', 'app', 'resetpass', `>${password}`);
const at = () => ({ host: server.host, port: server.port });
const options = (): RedisOptions => ({ ...at(), username: 'app', password: SECRET });

/** Renders everything that a logger could print of a value, errors in errors included. */
function rendered(value: unknown): string {
  const seen = new Set<unknown>();
  const json = (_: string, each: unknown): unknown => {
    if (typeof each !== 'object' || each === null) return each;
    if (seen.has(each)) return undefined;
    seen.add(each);
    return each instanceof Error ? Object.assign({}, each, { text: String(each.stack), cause: each.cause }) : each;
  };
  return `${inspect(value, { depth: Infinity })}\n${JSON.stringify(value, json)}`;
}

function expectNoPassword(...told: unknown[]): string {
  const text = rendered([told, printed]);
  expect(text).not.toContain(SECRET);
  expect(text).not.toContain(WANTED);
  return text;
}

/** Boots an app with such credentials, and returns all that it tells. */
async function toldBy(redis: () => JobQueueModuleOptions['redis']): Promise<unknown[]> {
  const log = new KeptLog();
  const jobs = { redis: redis(), enqueueTimeoutMs: 50, durabilityTimeoutMs: 1, maintenance: false } as const;
  const app = await startApp({ jobs, log });
  const service = app.get(JobQueueService);
  const errors = await Promise.all([
    failure(() => service.enqueue('email', null)),
    failure(() => service.enqueue('email', null, { durability: 'replica' })),
    failure(() => service.queue('email').stats()),
    failure(() => service.get('email', 'x')),
  ]);
  const health = await app.get(JobQueueHealthIndicator).check();
  expect(health.jobQueue.status).toBe('down');
  return [errors, health, log.lines];
}

describe('credentials that Redis refuses', () => {
  const quick = { disconnectTimeout: 100 };
  const ways: [string, () => JobQueueModuleOptions['redis'], string][] = [
    ['a URL', () => server.url.replace('//', `//app:${SECRET}@`), 'WRONGPASS'],
    ['a URL with a query', () => `${server.url}?password=${SECRET}`, 'WRONGPASS'],
    ['options', options, 'WRONGPASS'],
    ['options without them', () => at(), 'NOAUTH'],
    [
      'options for sentinels',
      () => ({ sentinels: [at()], name: 'jobs', sentinelPassword: SECRET, password: SECRET }),
      'All sentinels are unreachable',
    ],
    ['a client', () => kept(new Redis({ ...at(), ...quick, password: SECRET })), 'WRONGPASS'],
    ['a client without them', () => kept(new Redis({ ...at(), ...quick })), 'NOAUTH'],
    [
      'a Cluster',
      () => kept(new Cluster([at()], { redisOptions: { ...quick, password: SECRET } })),
      'Failed to refresh slots cache',
    ],
  ];

  it('are in no log line, error or health report, however they are given', async () => {
    // All at once, because each health check waits for a second.
    const told = await Promise.all(ways.map(async ([way, redis]) => [way, await toldBy(redis)]));
    told.forEach((each) => expectNoPassword(each));
  });

  it('are not in the error of an app that must have Redis, which says why it has not', async () => {
    const boots = ways.map(([way, redis]) =>
      failure(() => startApp({ jobs: { redis: redis(), requireRedis: { timeoutMs: 2_000 } } })).then((error) => [
        way,
        error,
      ]),
    );
    for (const [i, told] of (await Promise.all(boots)).entries()) {
      expect(expectNoPassword(told)).toContain(ways[i]![2]);
    }
  });
});

describe('credentials that were right', () => {
  it('and change while the app runs are in no error of a later connection', async () => {
    await grant(SECRET);
    const log = new KeptLog();
    const app = await startApp({
      jobs: { redis: options(), worker: false, maintenance: false, enqueueTimeoutMs: 2_000 },
      log,
    });
    const jobs = app.get(JobQueueService);
    const name = uniqueQueueName();
    const job = await jobs.enqueue(name, null);
    await grant(WANTED);
    const told = gate<unknown>();
    jobs.events.subscribe({ error: told.open });
    const errors = await Promise.all([
      failure(() => job.result({ timeoutMs: 100 })),
      failure(() => jobs.enqueue(name, null, { durability: 'replica' })),
      told.promise,
    ]);
    expect(await jobs.queue(name).claim()).toMatchObject({ id: job.id }); // by the connection that there is
    expect(await jobs.queue(name).claim({ timeoutMs: 500 })).toBeNull(); // by one that is refused
    await eventually(() => log.lines.some((line) => line.includes('(blocking): WRONGPASS')));
    expect(expectNoPassword(errors, log.lines)).toContain('WRONGPASS');
  });

  it('are in nothing that an app logs of a job, of a handle, or of a job that no replica acknowledged', async () => {
    await grant(SECRET);
    const name = uniqueQueueName();
    const seen = gate<Job>();
    @JobHandler(name)
    class Handler {
      handle(job: Job) {
        seen.open(job);
        return 'done';
      }
    }
    const log = new KeptLog();
    const app = await startApp({ jobs: { redis: options(), durabilityTimeoutMs: 1 }, providers: [Handler], log });
    const jobs = app.get(JobQueueService);
    const handle = await jobs.enqueue(name, { to: 'ada' });
    const job = await seen.promise;
    const refused = await failure(() => jobs.enqueue(name, null, { durability: 'replica' }));
    expect(refused.name).toBe('DurabilityTimeoutError');
    expect(JSON.parse(JSON.stringify(job))).toMatchObject({ claim: { id: handle.id, payload: { to: 'ada' } } });
    expectNoPassword(job, handle, await handle.result(), await handle.get(), refused, log.lines);
  });
});

describe('a mistake in the options', () => {
  const url = `redis://me:${SECRET}@cache:6379`;

  it.each<[string, unknown]>([
    ['an option that ioredis does not know', { hots: 'cache', password: SECRET }],
    ['a URL among the options of ioredis', { url }],
    ['a URL as the host', { host: url }],
    ['a URL of another kind', `http://me:${SECRET}@cache:6379`],
    ['a URL without its kind', `me:${SECRET}@cache:6379`],
    ['a URL with a blank in its password', `http://me:so ${SECRET}@cache:6379`],
    ['a password in the query', `cache:6379?password=${SECRET}`],
    ['a slash in the password that is not encoded', `redis://me:/${SECRET}@cache:6379`],
    ['a hash in the password that is not encoded', `redis://me:1#${SECRET}@cache:6379`],
    ['a percent sign in the password that is not encoded', `redis://me:%${SECRET}@cache:6379`],
    ['a password without a host', `redis://:${SECRET}`],
    ['several URLs', [url]],
  ])('is reported without the password: %s', async (_, redis) => {
    const error = await failure(() => startApp({ jobs: { redis: redis as JobQueueModuleOptions['redis'] } }));
    expect(error.name).toBe('InvalidOptionError');
    expectNoPassword(error);
  });

  it('is shown without the password: a URL in place of the options, or of a client', async () => {
    const errors = [
      await failure(() => compileApp({ module: JobQueueModule.forRoot(url as never) })),
      await failure(() => compileApp({ module: JobQueueModule.forRootAsync({ useFactory: () => url as never }) })),
      await failure(() => new JobQueue(url as never, 'jobs')),
    ];
    expect(errors.map(({ name }) => name)).toEqual(Array.from({ length: 3 }, () => 'InvalidOptionError'));
    expectNoPassword(errors);
  });
});
