import { describe, expect, it, jest } from '@jest/globals';
import { Controller, Get, type INestApplication } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { JobQueueService } from 'nest-job-queue';
import { JobQueue } from 'nest-job-queue/core';
import { JobQueueHealthIndicator, type JobQueueHealthOptions } from 'nest-job-queue/health';
import request from 'supertest';
import { readSigns } from '#inspect/signs.js';
import { verdictOf } from '#inspect/verdict.js';
import { Worker } from '#worker/worker.js';
import { STUCK_AFTER_MS } from '#worker/attempt/overdue-handler.js';
import { freePort } from '../../scripts/redis/redis-server.mjs';
import { handlerOf, startApp, type TestApp } from '../nest/app.js';
import { startOwnRedis } from '../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { holdTimers } from '../support/worker/held-timers.js';
import { eventually, gate, sleep } from '../support/faults/wait.js';

/** Returns the result of an app's health check. */
async function check(app: INestApplication, options?: JobQueueHealthOptions) {
  const { jobQueue } = await app.get(JobQueueHealthIndicator).check('jobQueue', { otherQueues: false, ...options }); // other tests share the server
  return jobQueue;
}

/** Starts an app that only enqueues, with a queue of `waiting` jobs. */
async function producer(waiting: number, parts: TestApp = {}) {
  const name = uniqueQueueName('email');
  const app = await startApp({ ...parts, jobs: { worker: false, maintenance: false, ...parts.jobs } });
  const queue = app.get(JobQueueService).queue(name);
  await queue.enqueueMany(Array.from({ length: waiting }, () => ({ payload: null })));
  return { app, queue, name };
}

describe('up', () => {
  it('counts jobs that wait for a signal apart, and not as a backlog', async () => {
    const { app, queue, name } = await producer(1);
    const claim = (await queue.claim())!;
    await queue.exec((calls) => calls.wait({ claim, name: 'approved', kind: 'signal' }));
    await queue.exec((calls) => calls.release([{ ...claim, reason: 'wait', delayMs: 0 }]));
    expect(await check(app, { maxPending: 0, maxOldestPendingAgeMs: 0, failOn: 'warning' })).toMatchObject({
      status: 'up',
      queues: { [name]: { pending: 0, scheduled: 1, parked: 1, oldestPendingAgeMs: 0 } },
    });
  });

  it('reports depths, the worker, and the latency of Redis', async () => {
    const name = uniqueQueueName('email');
    const app = await startApp({ providers: [handlerOf(name)] });
    await (await app.get(JobQueueService).enqueue(name, null)).result();
    await app.get(JobQueueService).enqueue(name, null, { delayMs: 60_000 });
    const report = await check(app, { requireWorker: true, maxSinceLastFetchMs: 10_000 });
    expect(report).toEqual({
      status: 'up',
      redis: { reachable: true, latencyMs: expect.any(Number) },
      worker: { running: 0, sinceLastFetchMs: expect.any(Number) },
      queues: {
        [name]: {
          pending: 0,
          processing: 0,
          scheduled: 1,
          completed: 1,
          failed: 0,
          oldestPendingAgeMs: 0,
          expiredClaims: 0,
          workers: 1,
          paused: false,
          verdict: { severity: 'ok', state: 'idle', summary: 'idle: nothing waits' },
        },
      },
    });
  });

  it('lists a job whose handler ignores its aborted signal, until it ends', async () => {
    const name = uniqueQueueName('email');
    const finish = gate();
    const timers = holdTimers(STUCK_AFTER_MS);
    const queues = { [name]: { visibilityMs: 300 } };
    const app = await startApp({ providers: [handlerOf(name, () => finish.promise)], jobs: { queues } });
    const job = await app.get(JobQueueService).enqueue(name, null, { timeoutMs: 10, maxAttempts: 1 });
    await eventually(async () => (await job.get())?.status === 'processing');
    expect((await check(app)).worker).not.toHaveProperty('stuck');
    const stuck = async () => (await check(app)).worker!.stuck;
    await timers.fire();
    await eventually(async () => (await stuck()) !== undefined);
    expect(await stuck()).toMatchObject([{ queue: name, id: job.id, name, attempt: 1 }]);
    finish.open();
    await eventually(async () => (await stuck()) === undefined);
    await expect(job.result()).rejects.toThrow('timeoutMs');
  });

  it('warns of a handler without a timeout that has run for more than 15 minutes', async () => {
    const name = uniqueQueueName('email');
    const app = await startApp({ providers: [handlerOf(name)] });
    const run = { queue: name, id: 'a', name, attempt: 1, forMs: 960_000 };
    jest.spyOn(Worker.prototype, 'longRuns', 'get').mockReturnValue([run]);
    const { status, warnings } = await check(app);
    expect(status).toBe('up');
    expect(warnings).toEqual([`${name}: the handler of "${name}" has run for 16 min without a timeoutMs (job a)`]);
  });

  it('in a producer says nothing of a worker, and may look at some queues only', async () => {
    const { app, name } = await producer(3);
    const other = uniqueQueueName();
    const report = await check(app, { queues: [other], maxPending: 0 });
    expect(report.status).toBe('up');
    expect(Object.keys(report.queues!)).toEqual([other]);
    expect(report).not.toHaveProperty('worker');
    expect((await check(app, { queues: [name] })).queues![name]).toMatchObject({ pending: 3 });
  });

  it('answers a health check over HTTP, in an app whose health module imports terminus', async () => {
    @Controller('health')
    class HealthController {
      constructor(
        private readonly health: HealthCheckService,
        private readonly jobs: JobQueueHealthIndicator,
      ) {}

      @Get()
      @HealthCheck()
      check() {
        return this.health.check([() => this.jobs.check('jobs', { maxPending: 2 })]);
      }
    }
    const { app, queue, name } = await producer(2, { imports: [TerminusModule], controllers: [HealthController] });
    const up = await request(app.getHttpServer()).get('/health').expect(200);
    expect(up.body).toMatchObject({ status: 'ok', info: { jobs: { status: 'up' } } });
    await queue.enqueue(null);
    const down = await request(app.getHttpServer()).get('/health').expect(503);
    expect(down.body).toMatchObject({
      status: 'error',
      error: { jobs: { status: 'down', message: `${name}: 3 waiting, more than 2` } },
    });
  });
});

describe('down, and says why', () => {
  it('more waits than may', async () => {
    const { app, name } = await producer(3);
    expect(await check(app, { maxPending: 3 })).toMatchObject({ status: 'up' });
    expect(await check(app, { maxPending: 2 })).toMatchObject({
      status: 'down',
      message: `${name}: 3 waiting, more than 2`,
    });
  });

  it('jobs wait and no worker serves the queue', async () => {
    const { app, name } = await producer(12);
    expect(await check(app, { requireWorker: true })).toMatchObject({
      status: 'down',
      message: `${name}: 12 waiting, no worker`,
    });
    const { app: empty, name: other } = await producer(0);
    expect(await check(empty, { requireWorker: true })).toMatchObject({ message: `${other}: no worker` });
  });

  it('the oldest job waits for too long', async () => {
    const { app, name } = await producer(1);
    const redis = connect();
    const [id] = await redis.lrange(`queue:${name}:pending`, 0, -1);
    // As if it had been there for a minute: ready since then, by the server's clock.
    const fields = Object.keys(await redis.hgetall(`queue:${name}:job:${id}`));
    expect(fields).toContain('enqueued_at_ms');
    const minuteAgo = Date.now() - 60_000;
    await redis.hset(`queue:${name}:job:${id}`, 'enqueued_at_ms', minuteAgo);
    const report = await check(app, { maxOldestPendingAgeMs: 30_000 });
    expect(report.status).toBe('down');
    expect(report.message).toMatch(/^email-\S+: the oldest waits for 1(\.\d)? min, more than 30 s$/);
    expect(await check(app, { maxOldestPendingAgeMs: 120_000 })).toMatchObject({ status: 'up' });
  });

  it('dead letters', async () => {
    const { app, name, queue } = await producer(1);
    await queue.fail((await queue.claim())!, new Error('no good'), { final: true });
    expect(await check(app, { maxFailed: 0 })).toMatchObject({
      status: 'down',
      message: `${name}: 1 dead letters, more than 0`,
    });
  });

  it('expired claims that no process reclaims', async () => {
    const { app, name, queue } = await producer(1);
    const { id } = (await queue.claim())!;
    expect(await check(app, { maxExpiredClaims: 0 })).toMatchObject({ status: 'up' });
    await connect().zadd(`queue:${name}:claims`, 1, id);
    expect(await check(app, { maxExpiredClaims: 0 })).toMatchObject({
      status: 'down',
      message: `${name}: 1 expired claims, more than 0`,
    });
  });

  it('a worker that does not fetch although it could', async () => {
    const app = await startApp({ providers: [handlerOf(uniqueQueueName(), () => undefined)] });
    let report = await check(app, { maxSinceLastFetchMs: 20 });
    while (report.status === 'up') {
      report = await check(app, { maxSinceLastFetchMs: 20 });
    }
    expect(report.message).toMatch(/^the worker last fetched \d+ ms ago, more than 20 ms$/);
  });

  it('the verdict on a queue, where it is to count', async () => {
    const { app, name, queue } = await producer(1);
    await queue.pause();
    const verdict = { severity: 'warning', state: 'paused', next: expect.stringContaining('resume') };
    expect(await check(app, { failOn: 'critical' })).toMatchObject({
      status: 'up',
      queues: { [name]: { verdict } },
    });
    const report = await check(app, { failOn: 'warning' });
    expect(report.message).toMatch(new RegExp(`^${name}: paused for .*: 1 waiting$`));
    const signs = await readSigns(queue);
    expect(report.queues![name]!.verdict.state).toBe(verdictOf(signs).state);
    await queue.resume();
  });

  it('several things at once', async () => {
    const { app, name } = await producer(3);
    expect(await check(app, { maxPending: 1, requireWorker: true })).toMatchObject({
      message: `${name}: 3 waiting, no worker; ${name}: 3 waiting, more than 1`,
    });
  });
});

describe('warns, and stays up', () => {
  it('where jobs wait for a worker that is not there; down only by a threshold', async () => {
    const { app, name, queue } = await producer(0);
    const { id } = await queue.enqueue(null, { name: 'emial' });
    expect(await check(app)).not.toHaveProperty('warnings');
    const redis = connect();
    await redis.hset(`queue:${name}:job:${id}`, 'enqueued_at_ms', Date.now() - 90_000);
    const warning = new RegExp(
      `^${name}: jobs named "emial" wait for 1\\.\\d min, and no live worker handles the name$`,
    );
    const report = await check(app);
    expect(report).toMatchObject({ status: 'up', queues: { [name]: { unserved: [{ name: 'emial' }] } } });
    expect(report.warnings).toContainEqual(expect.stringMatching(warning));
    expect((await check(app, { unservedWarningMs: 120_000 })).warnings ?? []).not.toContainEqual(
      expect.stringMatching(warning),
    );
    expect(await check(app, { maxUnservedMs: 120_000 })).toMatchObject({ status: 'up' });
    const down = await check(app, { maxUnservedMs: 60_000 });
    expect(down.status).toBe('down');
    expect(down.message).toContain('no live worker handles the name, more than 1 min');
    expect(down.warnings ?? []).not.toContainEqual(expect.stringMatching(warning));
  });

  it('where no process of the fleet maintains a queue', async () => {
    const name = uniqueQueueName('email');
    const app = await startApp({ jobs: { maintenance: false }, providers: [handlerOf(name)] });
    expect(await check(app)).not.toHaveProperty('warnings');
    // As if the first worker had come two minutes ago, by the server's clock.
    const longAgo = Date.now() - 120_000;
    await connect().hset(`queue:${name}:sweep`, { last_run_at_ms: longAgo, served_since_ms: longAgo });
    const text = `${name}: no process maintains the queue; leave maintenance on in at least one process of the fleet`;
    expect(await check(app)).toMatchObject({ status: 'up', warnings: [text] });
    await startApp({ jobs: { worker: false, maintenance: { everyMs: 100 }, queues: { [name]: {} } } });
    await eventually(async () => (await check(app)).warnings === undefined);
  });

  it('but not at a boot after a long rest, before the first maintenance', async () => {
    const name = uniqueQueueName('email');
    const before = await startApp({ providers: [handlerOf(name)] });
    await before.close();
    const redis = connect();
    await redis.hset(`queue:${name}:sweep`, 'last_run_at_ms', Date.now() - 3_600_000);
    await new JobQueue(redis, name).enqueue(null); // a queue with a job keeps its memory
    const web = await startApp({ jobs: { worker: false, queues: { [name]: {} } } });
    const report = await check(web);
    expect(report.warnings).toBeUndefined();
    expect(report.queues?.[name]).not.toHaveProperty('maintenanceOverdue');
    const app = await startApp({ providers: [handlerOf(name)] });
    expect(await check(app)).not.toHaveProperty('warnings');
  });
});

describe('a worker that has nothing to fetch for', () => {
  const limits = { maxSinceLastFetchMs: 1 };

  it('is up while all its slots are busy, however long', async () => {
    const name = uniqueQueueName();
    const [running, finish] = [gate(), gate()];
    const app = await startApp({
      jobs: { concurrency: 1 },
      providers: [handlerOf(name, async () => (running.open(), finish.promise))],
    });
    const job = await app.get(JobQueueService).enqueue(name, null);
    await running.promise;
    await eventually(async () => (await check(app, limits)).status === 'up');
    await sleep(20);
    expect(await check(app, limits)).toMatchObject({ status: 'up', worker: { running: 1, sinceLastFetchMs: 0 } });
    finish.open();
    await job.result();
    await eventually(async () => (await check(app, limits)).status === 'down');
  });

  it('is up while it is paused here', async () => {
    const app = await startApp({ providers: [handlerOf(uniqueQueueName(), () => undefined)] });
    app.get(JobQueueService).pauseWorker();
    await eventually(async () => (await check(app, limits)).status === 'up');
    await sleep(20);
    expect((await check(app, limits)).status).toBe('up');
  });
});

describe('without Redis', () => {
  it('is down at once when it is gone, and up when it is back, also while the app boots without it', async () => {
    const port = await freePort();
    const name = uniqueQueueName();
    const app = await startApp({ jobs: { redis: `redis://127.0.0.1:${port}` }, providers: [handlerOf(name)] });
    expect(await check(app)).toMatchObject({
      status: 'down',
      message: `Redis at 127.0.0.1:${port} is not reachable (connect ECONNREFUSED 127.0.0.1:${port}).`,
      redis: { reachable: false },
    });
    const server = await startOwnRedis({ port });
    while ((await check(app)).status === 'down') {
      await app
        .get(JobQueueService)
        .queue('any')
        .stats()
        .catch(() => undefined);
    }
    await app.close();
    await server.stop();
  });

  it('is down within its own timeout when the server is frozen', async () => {
    const server = await startOwnRedis();
    const { app } = await producer(1, { jobs: { redis: server.url } });
    await server.kill('SIGSTOP');
    const started = performance.now();
    const report = await check(app, { timeoutMs: 200 });
    expect(performance.now() - started).toBeLessThan(5_000); // the limit of the connection itself
    expect(report).toMatchObject({ status: 'down', redis: { reachable: false } });
    expect(report.message).toContain('did not answer within 200 ms');
    await server.kill('SIGCONT');
    await app.close();
    await server.stop();
  });
});

it('says that Redis is full, and is down for it where failOn says so', async () => {
  const server = await startOwnRedis();
  const { app, name } = await producer(1, { jobs: { redis: server.url } });
  const redis = connect({}, server.url);
  await redis.config('SET', 'maxmemory', '500kb');
  const full = expect.stringMatching(/^Redis is full: .* and it refuses enqueues$/);
  expect(await check(app)).toMatchObject({
    status: 'up',
    warnings: [full],
    redis: { reachable: true, verdict: { severity: 'critical', summary: full } },
    queues: { [name]: { pending: 1 } },
  });
  const down = await check(app, { failOn: 'critical' });
  expect(down).toMatchObject({ status: 'down', message: full });
  expect(down).not.toHaveProperty('warnings');
  await app.close();
});

it('names the problem of Redis, also in an app without a queue', async () => {
  const server = await startOwnRedis();
  const app = await startApp({ jobs: { worker: false, maintenance: false, redis: server.url } });
  expect(await check(app)).toMatchObject({ status: 'up', redis: { reachable: true }, queues: {} });
  await connect({}, server.url).replicaof('127.0.0.1', 1);
  const replica = expect.stringContaining('is a replica and takes no writes');
  expect(await check(app, { failOn: 'critical' })).toMatchObject({ status: 'down', message: replica });
  await app.close();
});

it('is down for a queue that it cannot read, and reports the others', async () => {
  const { app, name } = await producer(1);
  const newer = app.get(JobQueueService).queue(uniqueQueueName('newer'));
  await connect().hset(`queue:${newer.name}:sweep`, 'layout', 9);
  const report = await check(app);
  expect(report).toMatchObject({
    status: 'down',
    message: expect.stringMatching(/^newer\S+: unreadable: its keys have layout 9, .* up to \d$/),
    redis: { reachable: true },
    queues: { [name]: { pending: 1 } },
  });
  expect(report.queues![newer.name]).toEqual({
    verdict: {
      severity: 'warning',
      state: 'unreadable',
      summary: expect.stringMatching(/^unreadable: its keys have layout 9, /),
      cause: 'a newer version of nest-job-queue wrote them',
      next: 'upgrade nest-job-queue here',
    },
  });
});

it('opens no connection of its own', async () => {
  const server = await startOwnRedis();
  const { app } = await producer(1, { jobs: { redis: server.url } });
  const redis = connect({}, server.url);
  const clients = async () => ((await redis.client('LIST')) as string).trim().split('\n').length;
  const before = await clients();
  await check(app);
  expect(await clients()).toBe(before);
  await app.close();
});

it('refuses an option that it does not know', async () => {
  const { app } = await producer(0);
  await expect(check(app, { maxPendign: 5 } as object)).rejects.toThrow(
    'health check "jobQueue".maxPendign: expected a known option, found "maxPendign". Did you mean maxPending?',
  );
});

it('reports a queue with shards once, with the sum of their jobs', async () => {
  const name = uniqueQueueName('ingest');
  const app = await startApp({ jobs: { queues: { [name]: { spread: 4 } }, worker: false, maintenance: false } });
  const jobs = app.get(JobQueueService);
  await Promise.all(Array.from({ length: 8 }, () => jobs.enqueue(name, null)));
  const { status, queues } = await check(app);
  expect(status).toBe('up');
  expect(Object.keys(queues!)).toEqual([name]);
  expect(queues![name]).toMatchObject({ pending: 8, workers: 0 });
  expect(await check(app, { queues: [name], maxPending: 7 })).toMatchObject({ status: 'down' });
});

it('counts the running jobs of all workers of this process, of which a queue with shards has its own', async () => {
  const names = [uniqueQueueName(), uniqueQueueName()];
  const finish = gate();
  const [first, second] = names.map(() => gate());
  const app = await startApp({
    providers: [
      handlerOf(names[0]!, async () => (first!.open(), finish.promise)),
      handlerOf(names[1]!, async () => (second!.open(), finish.promise), { spread: 2 }),
    ],
  });
  const handles = await Promise.all(names.map((name) => app.get(JobQueueService).enqueue(name, null)));
  await Promise.all([first!.promise, second!.promise]);
  expect((await check(app)).worker).toMatchObject({ running: 2 });
  finish.open();
  await Promise.all(handles.map((handle) => handle.result()));
});
