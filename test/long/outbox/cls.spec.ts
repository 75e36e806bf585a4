// The example of docs/outbox.md with nestjs-cls, as written. That package is CommonJS, so it runs in a process.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { fromPg } from 'nest-job-queue/outbox';
import { runExample } from '../../docs/app/child.js';
import { writeExample } from '../../docs/app/files.js';
import { exampleOf } from '../../docs/example.js';
import { makeTables } from '../../support/databases/outbox.js';
import { startPostgres, type Postgres } from '../../../scripts/databases/postgres-server.mjs';
import { startOwnRedis } from '../../support/redis/own-redis.js';

const APP = `
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClsPluginTransactional } from '@nestjs-cls/transactional';
import { ClsModule } from 'nestjs-cls';
import pg from 'pg';
import { JobQueueModule, JobQueueService } from 'nest-job-queue';
import { fromPg, JobOutbox, JobOutboxModule } from 'nest-job-queue/outbox';
import { Orders } from './orders.js';

const pool = new pg.Pool({ connectionString: process.env.POSTGRES_URL });
const database = fromPg(pool);
const adapter = {
  connection: pool,
  optionsFactory: (from) => ({
    wrapWithTransaction: (options, work, setTx) => database.begin((client) => (setTx(client), work())),
    getFallbackInstance: () => from,
  }),
};

@Module({
  imports: [
    ClsModule.forRoot({ global: true, plugins: [new ClsPluginTransactional({ adapter })] }),
    JobQueueModule.forRoot(),
    JobOutboxModule.forRoot({ database, relay: false }),
  ],
  providers: [Orders],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const orders = app.get(Orders);
await orders.place('kept');
const undone = await orders.place('x'.repeat(300)).catch((error) => error.message);
const outside = await orders.remind('a').catch((error) => error.message);
await app.get(JobOutbox).ship();
const jobs = await app.get(JobQueueService).queue('receipt').list('pending');
await app.close();
await pool.end();
console.log(JSON.stringify({ jobs: jobs.map(({ payload }) => payload), undone, outside }));
`;

let server: Postgres;

beforeAll(async () => {
  server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url });
  await makeTables(fromPg(pool));
  await pool.query('ALTER TABLE orders ALTER COLUMN name TYPE varchar(200)');
  await pool.end();
}, 60_000);

afterAll(() => server.stop());

it('takes the transaction of nestjs-cls, and refuses its fallback', async () => {
  const redis = await startOwnRedis();
  const folder = writeExample({ 'orders.ts': exampleOf('outbox.md', 'cls'), 'main.ts': APP });
  const env = { REDIS_URL: redis.url, POSTGRES_URL: server.url };
  expect(await runExample(folder, 'main.ts', env)).toEqual({
    jobs: [{ order: 'kept' }],
    undone: expect.stringContaining('too long'),
    outside: expect.stringContaining('expected an open transaction, found the pool itself'),
  });
}, 60_000);
