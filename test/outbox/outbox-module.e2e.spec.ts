// The outbox in an app. A service adds jobs in the transaction of its rows, and handlers note their work in theirs.
import { Inject, Injectable } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import * as promClient from 'prom-client';
import {
  defineJob,
  JobHandler,
  JobQueueModule,
  JobQueueService,
  type Job,
  type JobQueueMiddleware,
  OnTopic,
} from 'nest-job-queue';
import { fromPg, JobOutbox, JobOutboxModule } from 'nest-job-queue/outbox';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { JobQueueMetricsModule } from 'nest-job-queue/metrics';
import { JobQueueTesting, JobQueueTestingModule } from 'nest-job-queue/testing';
import { z } from 'zod';
import { compileApp, startApp } from '../nest/app.js';
import { makeTables } from '../support/databases/outbox.js';
import { startPostgres, type Postgres } from '../../scripts/databases/postgres-server.mjs';
import { eventually } from '../support/faults/wait.js';
import { uniqueQueueName } from '../support/redis/redis.js';

let server: Postgres;
let pool: pg.Pool;

beforeAll(async () => {
  server = await startPostgres();
  pool = new pg.Pool({ connectionString: server.url });
  await makeTables(fromPg(pool));
}, 60_000);

afterAll(async () => {
  await pool.end();
  await server.stop();
});

async function transact<Value>(work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
  return fromPg(pool).begin((client) => work(client as pg.PoolClient));
}

it('adds a job with its row or not at all, and does the work of a handler once', async () => {
  const Receipt = defineJob(uniqueQueueName('receipt'), { payload: z.object({ order: z.string() }) });
  const runs: string[] = [];

  @JobHandler(Receipt)
  class ReceiptHandler {
    constructor(@Inject(JobQueueService) private readonly jobs: JobQueueService) {}

    async handle(job: Job<{ order: string }>): Promise<unknown> {
      const outcome = await transact((client) =>
        this.jobs.once(client, job, async () => {
          await client.query('INSERT INTO orders (name) VALUES ($1)', [`receipt of ${job.payload.order}`]);
          return 'written';
        }),
      );
      runs.push(outcome.ran ? outcome.value : 'skipped');
      if (job.attempt === 1) throw new Error('after its commit');
      return job.metadata;
    }
  }

  @Injectable()
  class Orders {
    constructor(@Inject(JobQueueService) private readonly jobs: JobQueueService) {}

    place(order: string, fails: boolean) {
      return transact(async (transaction) => {
        await transaction.query('INSERT INTO orders (name) VALUES ($1)', [order]);
        const job = await this.jobs.enqueue(Receipt, { order }, { transaction });
        if (fails) throw new Error('no money');
        return job;
      });
    }
  }

  const seen: unknown[] = [];
  const middleware: JobQueueMiddleware = {
    enqueue: (request, next) => {
      seen.push(request.method, request.transaction !== undefined);
      request.jobs[0]!.options.metadata = { from: 'middleware' };
      return next();
    },
  };
  const app = await startApp({
    jobs: { redis: process.env.TEST_REDIS_URL!, middleware: [middleware] },
    imports: [JobOutboxModule.forRootAsync({ useFactory: () => ({ database: fromPg(pool) }) })],
    providers: [ReceiptHandler, Orders],
  });
  const [orders, jobs] = [app.get(Orders), app.get(JobQueueService)];
  await expect(orders.place('never', true)).rejects.toThrow('no money');
  const job = await orders.place('one', false);
  expect(job).toMatchObject({ outcome: 'stored', queue: Receipt.name });
  expect(await job.result()).toEqual({ from: 'middleware' });
  expect(runs).toEqual(['written', 'skipped']);
  expect((await pool.query('SELECT name FROM orders ORDER BY name')).rows).toEqual([
    { name: 'one' },
    { name: 'receipt of one' },
  ]);
  expect(seen).toEqual(['enqueue', true, 'enqueue', true]);
  expect(await app.get(JobOutbox).stats()).toEqual({ waiting: 0, setAside: 0, failed: 0, oldestAgeMs: 0 });

  const wrong = transact((transaction) => jobs.enqueue(Receipt, { order: 7 } as never, { transaction }));
  await expect(wrong).rejects.toThrow('payload.order');
  await expect(jobs.enqueue(Receipt, { order: 'x' }, { transaction: pool })).rejects.toThrow('the pool itself');
  const add = (options: object) => transact((transaction) => jobs.enqueue(Receipt, { order: 'x' }, { transaction, ...options })); // prettier-ignore
  await expect(add({ ordered: true })).rejects.toThrow(/enqueue.ordered: expected jobs with a group/);
  await expect(add({ ordered: true, transaction: undefined, group: 'a' })).rejects.toThrow(/beside `transaction`/);
  await expect(add({ ordered: 1 })).rejects.toThrow('enqueue.ordered: expected true or false');
  await expect(add({ transaction: null })).rejects.toThrow('expected an open transaction, found no client of pg');
  const many = await transact((transaction) =>
    jobs.enqueueMany(
      Receipt,
      [{ payload: { order: 'a' } }, { payload: { order: 'b' }, group: 'b' }].map((each) => ({
        group: 'a',
        ...each,
      })),
      { transaction, ordered: true },
    ),
  );
  expect(await Promise.all(many.map((each) => each.result()))).toHaveLength(2);
});

async function pending(jobs: JobQueueService, queue: string): Promise<unknown[]> {
  return (await jobs.queue(queue).list('pending')).map(({ payload }) => payload);
}

it('moves the jobs of each connection that it names', async () => {
  const redis = process.env.TEST_REDIS_URL!;
  const database = fromPg(pool);
  const app = await startApp({
    imports: [
      JobQueueModule.forRoot({ name: 'billing', redis }),
      JobOutboxModule.forRoot({ database, relay: false, connections: ['default', 'billing'] }),
    ],
  });
  const billing = app.get<JobQueueService>("service of JobQueueModule.forRoot({ name: 'billing' })");
  const queue = uniqueQueueName('invoice');
  const jobs = app.get(JobQueueService);
  await transact(async (transaction) => {
    await billing.enqueue('invoice', 1, { queue, transaction });
    await jobs.enqueue('mail', 2, { queue: `${queue}-mail`, transaction });
  });
  expect((await pool.query('SELECT connection FROM job_outbox ORDER BY seq')).rows).toEqual([
    { connection: 'billing' },
    { connection: 'default' },
  ]);
  await app.get(JobOutbox).ship();
  expect(await pending(billing, queue)).toEqual([1]);
  expect(await pending(jobs, `${queue}-mail`)).toEqual([2]);
});

it('has its verdict in the health check', async () => {
  const app = await startApp({
    imports: [JobOutboxModule.forRoot({ database: fromPg(pool), relay: false })],
    providers: [JobQueueHealthIndicator],
  });
  const jobs = app.get(JobQueueService);
  const check = async (failOn?: 'critical') =>
    (
      await app
        .get(JobQueueHealthIndicator)
        .check('jobs', { queues: [], timeoutMs: 30_000, ...(failOn && { failOn }) })
    ).jobs;
  expect(await check()).toMatchObject({ status: 'up', outbox: { severity: 'ok' } });
  await transact((transaction) => jobs.enqueue('mail', {}, { queue: uniqueQueueName('mail'), transaction }));
  await pool.query(`UPDATE job_outbox SET created_at = created_at - interval '3 minutes'`);
  const words = 'the outbox waits: 1 row, the oldest for 3 min: no relay moves them';
  expect(await check()).toMatchObject({ status: 'up', warnings: [words], outbox: { severity: 'critical' } });
  expect(await check('critical')).toMatchObject({ status: 'down', message: words });
  await app.get(JobOutbox).ship();
});

it('is measured, and a scrape does not wait for a database that gives no answer', async () => {
  const registry = new promClient.Registry();
  const database = fromPg(pool);
  let answers = true;
  const app = await startApp({
    imports: [
      JobOutboxModule.forRoot({
        relay: false,
        database: { ...database, begin: (work) => (answers ? database.begin(work) : new Promise(() => undefined)) },
      }),
      JobQueueMetricsModule.forRoot({ registry }),
    ],
  });
  const [queue, jobs] = [uniqueQueueName('mail'), app.get(JobQueueService)];
  const add = () => transact((transaction) => jobs.enqueue('mail', {}, { queue, transaction }));
  await add();
  await app.get(JobOutbox).ship();
  await add();
  await pool.query(`UPDATE job_outbox SET created_at = created_at - interval '3 minutes'`);
  const text = await registry.metrics();
  expect(text).toContain('job_queue_outbox_rows{state="waiting"} 1');
  expect(text).toContain('job_queue_outbox_rows{state="failed"} 0');
  expect(text).toMatch(/^job_queue_outbox_oldest_age_seconds 18\d/m);
  expect(text).toContain(`job_queue_outbox_relayed_total{queue="${queue}"} 1`);
  await app.get(JobOutbox).ship();
  answers = false;
  const without = await eventually(async () => {
    const scraped = await registry.metrics();
    return !scraped.includes('job_queue_outbox_rows{') && scraped;
  });
  expect(without).toContain(`job_queue_outbox_relayed_total{queue="${queue}"} 2`);
  answers = true;
});

it('writes rows by a user who may only insert', async () => {
  await pool.query(`CREATE ROLE producer LOGIN; GRANT INSERT ON job_outbox, job_done TO producer`);
  const url = new URL(server.url);
  url.username = 'producer';
  const own = new pg.Pool({ connectionString: url.href });
  const database = fromPg(own);
  const app = await startApp({
    imports: [JobOutboxModule.forRoot({ database, relay: false })],
    providers: [JobQueueHealthIndicator],
  });
  const [jobs, queue] = [app.get(JobQueueService), uniqueQueueName('mail')];
  const once = () =>
    database.begin((tx) => jobs.once(tx as object, { queue, id: 'x', enqueuedAt: new Date(1) }, async () => 1));
  await database.begin((transaction) => jobs.enqueue('mail', 1, { queue, transaction: transaction as object }));
  await database.begin((transaction) =>
    jobs.enqueueMany('mail', [{ payload: 2, group: 'a' }], {
      queue,
      transaction: transaction as object,
      ordered: true,
    }),
  );
  expect([await once(), await once()]).toEqual([{ ran: true, value: 1 }, { ran: false }]);
  const { jobs: health } = await app.get(JobQueueHealthIndicator).check('jobs', { queues: [], timeoutMs: 30_000 });
  expect(health).toMatchObject({ status: 'up' });
  expect(health).not.toHaveProperty('outbox');
  const relay = startApp({ imports: [JobOutboxModule.forRoot({ database })] });
  await expect(relay).rejects.toThrow('permission denied for table job_outbox');
  const mover = await startApp({ imports: [JobOutboxModule.forRoot({ database: fromPg(pool), relay: false })] });
  await mover.get(JobOutbox).ship();
  expect(await pending(jobs, queue)).toEqual([1, 2]);
  await own.end();
});

it('names the missing module, or the missing tables', async () => {
  const app = await startApp({});
  const jobs = app.get(JobQueueService);
  await expect(jobs.enqueue('mail', {}, { transaction: {} })).rejects.toThrow('Import JobOutboxModule');
  await expect(jobs.once({}, { queue: 'a', id: 'b', enqueuedAt: new Date() }, async () => 1)).rejects.toThrow(
    'JobOutboxModule',
  );

  const empty = new pg.Pool({ connectionString: server.url, options: '-c search_path=none' });
  const without = startApp({ imports: [JobOutboxModule.forRoot({ database: fromPg(empty) })] });
  await expect(without).rejects.toThrow('`npx nest-job-queue outbox sql` prints it');
  await empty.end();
  const bad = startApp({ imports: [JobOutboxModule.forRoot({ database: pool as never })] });
  await expect(bad).rejects.toThrow('JobOutboxModule.database: expected a database, by fromPg(…)');
});

it('needs no database in a test', async () => {
  const app = await compileApp({ module: JobQueueTestingModule.forTest() });
  await app.init();
  const jobs = app.get(JobQueueService);
  const job = await jobs.enqueue('mail', { to: 'ada' }, { transaction: {} });
  expect(job.outcome).toBe('stored');
  expect(await pending(jobs, 'mail')).toEqual([{ to: 'ada' }]);
  const testing = app.get(JobQueueTesting);
  const tx = {};
  const add = (to: string) => jobs.enqueue('mail', { to }, { transaction: tx });
  const undone = async (work: () => Promise<unknown>) => {
    const run = testing.transaction(tx, async () => (await work(), Promise.reject(new Error('undone'))));
    await expect(run).rejects.toThrow('undone');
  };
  const isNew = () => jobs.once(tx, { queue: 'mail', id: 'x', enqueuedAt: new Date(1) }, async () => 1);
  await undone(async () => (await add('nobody'), expect(await isNew()).toMatchObject({ ran: true })));
  await testing.transaction(tx, async () => {
    await add('bob');
    await undone(() => add('nobody'));
    expect(await isNew()).toMatchObject({ ran: true });
    expect(await pending(jobs, 'mail')).toHaveLength(1);
  });
  expect(await pending(jobs, 'mail')).toEqual([{ to: 'ada' }, { to: 'bob' }]);
  expect(await testing.transaction(tx, isNew)).toEqual({ ran: false });
  const once = () => jobs.once({}, { queue: 'mail', id: job.id, enqueuedAt: new Date(1) }, async () => 'done');
  expect([await once(), await once()]).toEqual([{ ran: true, value: 'done' }, { ran: false }]);
});

it('moves no rows into the memory of its process', async () => {
  const jobs = { redis: 'memory' } as const;
  const database = fromPg(pool);
  const refused = startApp({ jobs, imports: [JobOutboxModule.forRoot({ database })] });
  await expect(refused).rejects.toThrow(/^JobOutboxModule.relay: expected a Redis server .*Set `relay: false`/);
  const app = await startApp({ jobs, imports: [JobOutboxModule.forRoot({ database, relay: false })] });
  const service = app.get(JobQueueService);
  await transact((transaction) => service.enqueue('mail', {}, { queue: uniqueQueueName('mail'), transaction }));
  await expect(app.get(JobOutbox).ship()).rejects.toThrow('JobOutboxModule.relay');
  expect(await app.get(JobOutbox).stats()).toMatchObject({ waiting: 1 });
  await pool.query('TRUNCATE job_outbox');
});

it('publishes to a topic if the transaction commits, also while nothing is known of its subscriptions', async () => {
  const topic = uniqueQueueName('topic');
  const ran: unknown[] = [];
  class Subscriber {
    @OnTopic(topic, { subscription: 'a' })
    @OnTopic(topic, { subscription: 'b' })
    note({ name, payload, group }: Job) {
      ran.push([name, payload, group]);
    }
  }
  const redis = process.env.TEST_REDIS_URL!;
  const shop = await startApp({
    jobs: { redis },
    imports: [JobOutboxModule.forRootAsync({ useFactory: () => ({ database: fromPg(pool) }) })],
  });
  const jobs = shop.get(JobQueueService);
  const publish = (payload: string) => (transaction: pg.PoolClient) =>
    jobs.publish(topic, payload, { id: payload, transaction, group: 'g', ordered: true });
  const rolledBack = transact(async (transaction) => {
    await publish('never')(transaction);
    throw new Error('no money');
  });
  await expect(rolledBack).rejects.toThrow('no money');
  expect(await transact(publish('one'))).toEqual({ id: 'one', jobs: [] });
  await transact(publish('one'));

  await startApp({ jobs: { redis }, providers: [Subscriber] });
  await eventually(() => ran.length === 2);
  expect(ran).toHaveLength(2);
  expect(ran).toEqual(expect.arrayContaining(['a', 'b'].map((name) => [`${topic}/${name}`, 'one', 'g'])));
  await eventually(async () => (await shop.get(JobOutbox).stats())?.waiting === 0);
});
