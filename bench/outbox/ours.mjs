// This library's outbox in a Nest app, as users have it.
import { readFileSync } from 'node:fs';
import { JobHandler, JobQueueModule, JobQueueService } from '../../dist/esm/index.js';
import { fromPg, JobOutbox, JobOutboxModule, outboxSql } from '../../dist/esm/outbox.js';

const QUEUE = 'bench';

export const name = 'nest-job-queue (Nest)';
export const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
export const settings = {
  add: 'jobs.enqueue with { transaction } by fromPg with { prepare: true }, enqueueMany for many',
  relay:
    'in both processes, pollMs and hints at their defaults; outbox.wake() after the commit of a burst, and where a row says so',
  worker: '@JobHandler with concurrency 100; prefetch, sweep, heartbeat and all guarantees at their defaults',
};
export const waiting = 'SELECT count(*)::int AS count FROM job_outbox';
export const clear = ['TRUNCATE job_outbox'];

export async function open({ pool, redis, relays, handler }) {
  await makeTables(pool);
  const [{ Module }, { NestFactory }] = await Promise.all([import('@nestjs/common'), import('@nestjs/core')]);
  class BenchHandler {
    handle(job) {
      return handler(job.payload);
    }
  }
  JobHandler(QUEUE, { concurrency: 100 })(BenchHandler);
  class BenchModule {}
  const imports = [
    JobQueueModule.forRoot({ audit: 'off', redis }),
    JobOutboxModule.forRoot({ database: fromPg(pool, { prepare: true }), relay: relays }),
  ];
  Module({ imports, providers: handler ? [BenchHandler] : [] })(BenchModule);
  const app = await NestFactory.createApplicationContext(BenchModule, { logger: ['error', 'warn'] });
  const [jobs, outbox] = [app.get(JobQueueService), app.get(JobOutbox)];
  return {
    add: (transaction, payload) => jobs.enqueue(QUEUE, payload, { transaction }),
    addMany: (transaction, payloads) =>
      jobs.enqueueMany(
        QUEUE,
        payloads.map((payload) => ({ payload })),
        { transaction },
      ),
    committed: () => outbox.wake(),
    ship: () => outbox.ship(),
    close: () => app.close(),
  };
}

async function makeTables(pool) {
  const { rows } = await pool.query(`SELECT to_regclass('job_outbox') IS NOT NULL AS made`);
  for (const sql of rows[0].made ? [] : outboxSql('postgres')) await pool.query(sql);
}
