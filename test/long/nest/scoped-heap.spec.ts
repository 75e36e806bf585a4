// The heap of a process stays flat over 100,000 attempts of a REQUEST-scoped handler, on Redis, through the whole engine.
import { expect, it } from '@jest/globals';
import { runExample } from '../../docs/app/child.js';
import { writeExample } from '../../docs/app/files.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';

/** The timeout of the test, in ms: a busy machine needs minutes for 100,000 attempts. */
const LONG_MS = 300_000;

const APP = `
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Inject, Injectable, Module, Scope, UseGuards } from '@nestjs/common';
import { NestFactory, REQUEST } from '@nestjs/core';
import { JobHandler, JobPayload, JobQueueModule, JobQueueService, type Job } from 'nest-job-queue';
import { setTimeout as sleep } from 'node:timers/promises';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const ATTEMPTS = 100_000;
const STEP = 20_000;
let ran = 0;
let reached: () => void = () => undefined;

@Injectable({ scope: Scope.REQUEST })
class Tenant {
  readonly bytes = new Uint8Array(1_000);
  constructor(@Inject(REQUEST) readonly job: Job) {}
}

@Injectable({ scope: Scope.REQUEST })
class TenantGuard {
  constructor(private readonly tenant: Tenant) {}
  canActivate() {
    return this.tenant.job.id !== '';
  }
}

@JobHandler('scoped', { concurrency: 100, maxAttempts: 2 })
@UseGuards(TenantGuard)
class Handler {
  constructor(private readonly tenant: Tenant) {}

  handle(@JobPayload() n: number) {
    if (++ran % STEP === 0) reached();
    // One in ten fails once, so that retries are among the attempts.
    if (n % 10 === 0 && this.tenant.job.attempt === 1) throw new Error('once more');
  }
}

const jobQueue = JobQueueModule.forRoot({ completedHistory: 100, logFailures: false });
@Module({ imports: [jobQueue], providers: [Handler, Tenant] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const jobs = app.get(JobQueueService);
const heaps: number[] = [];
for (let from = 0; ran < ATTEMPTS; from += STEP) {
  const step = new Promise<void>((resolve) => (reached = resolve));
  for (let i = 0; i < STEP; i += 500) {
    await jobs.enqueueMany('scoped', Array.from({ length: 500 }, (_, k) => ({ payload: from + i + k })));
  }
  await step;
  while ((await jobs.queue('scoped').stats()).processing > 0) await sleep(5);
  collect();
  heaps.push(process.memoryUsage().heapUsed);
}
await app.close();
console.log(JSON.stringify({ ran, heaps: heaps.map((bytes) => Math.round(bytes / 1_000)) }));
`;

it(
  'is flat over 100,000 attempts',
  async () => {
    const redis = await startOwnRedis();
    const folder = writeExample({ 'main.ts': APP });
    const { ran, heaps } = (await runExample(folder, 'main.ts', { REDIS_URL: redis.url }, LONG_MS)) as {
      ran: number;
      heaps: number[];
    };
    console.log(`heap in KB after each 20,000 attempts: ${heaps.join(', ')}`);
    expect(ran).toBeGreaterThanOrEqual(100_000);
    // The first step warms up. A context of 1 KB or more that stayed would add 20 MB a step.
    const grown = Math.max(...heaps.slice(1)) - heaps[0]!;
    expect(grown).toBeLessThan(3_000);
  },
  LONG_MS,
);
