// The example of docs/bulk-handlers.md, as written.
import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import { startApp } from '../../nest/app.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { loadExample } from '../example.js';

it('docs/bulk-handlers.md: indexes documents in calls, and fails the empty one', async () => {
  const { IndexHandler } = await loadExample<{ IndexHandler: Type<{ calls: string[][] }> }>(
    'bulk-handlers.md',
    'bulk',
  );
  const redis = await startOwnRedis();
  const handler = new IndexHandler();
  const app = await startApp({
    jobs: { redis: redis.url },
    providers: [{ provide: IndexHandler, useValue: handler }],
  });
  const jobs = app.get(JobQueueService);
  const [good, empty] = await jobs.enqueueMany('index', [
    { payload: { id: 'a', text: 'text' } },
    { payload: { id: 'b', text: '' }, maxAttempts: 1 },
  ]);
  expect(await good!.result()).toEqual({ indexed: 'a' });
  await expect(empty!.result()).rejects.toThrow('document b is empty');
  expect(handler.calls.flat().toSorted()).toEqual(['a', 'b']);
  await app.close();
});
