// The app on Redis, which a unit test in memory cannot show. Both of its connections are to the server of the test.
import { Test } from '@nestjs/testing';
import { getJobQueueServiceToken, JobQueueService } from 'nest-job-queue';
import { withRedis } from 'nest-job-queue/testing';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';

it('runs the jobs of both connections, and stores what is billed encrypted', async () => {
  const redis = await withRedis();
  Object.assign(process.env, { REDIS_URL: redis.url, BILLING_REDIS_URL: redis.url, JOBS_PREFIX: redis.prefix });
  const { AppModule } = await import('../src/app.module.js');
  const moduleRef = await Test.createTestingModule({ imports: [AppModule] }).compile();
  moduleRef.useLogger(false);
  await moduleRef.init();
  const client = new Redis(redis.url);
  try {
    const statistics = await moduleRef.get(JobQueueService).enqueue('statistics', {}, { queue: 'records' });
    expect(await statistics.result()).toEqual({ records: 0 });
    const billing = moduleRef.get<JobQueueService>(getJobQueueServiceToken('billing'));
    const payment = await billing.enqueue('payment', { invoice: 'north-1' });
    expect(await payment.result()).toEqual({ paid: 'north-1' });
    const stored = await client.hgetall(`${redis.prefix}:payment:job:${payment.id}`);
    expect(stored.status).toBe('completed');
    expect(JSON.stringify(stored)).not.toContain('north-1');
  } finally {
    client.disconnect();
    await moduleRef.close();
    await redis.close();
  }
});
