// docs/redis.md: its examples connect an app to a Cluster and take the options of Sentinel.
import type { Type } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { JobQueueService } from 'nest-job-queue';
import { handlerOf, type TestApp, startApp } from '../../nest/app.js';
import { startCluster } from '../../support/redis/own-cluster.js';
import { eventually } from '../../support/faults/wait.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { loadExample } from '../example.js';

interface Example {
  queues: NonNullable<TestApp['module']>;
  JobsRedis: Type<{ cluster: { status: string } }>;
}

it('the client of the app serves a Cluster, and closes with the app', async () => {
  const { nodes } = await startCluster();
  process.env.REDIS_NODES = nodes.map(({ host, port }) => `${host}:${port}`).join(',');
  const { queues, JobsRedis } = await loadExample<Example>('redis.md', 'cluster');
  const name = uniqueQueueName();
  const app = await startApp({ module: queues, providers: [handlerOf(name, () => 'done')] });
  const job = await app.get(JobQueueService).enqueue(name, 1);
  expect(await job.result({ timeoutMs: 10_000 })).toBe('done');
  const { cluster } = app.get(JobsRedis, { strict: false });
  await app.close();
  await eventually(() => cluster.status === 'end');
});

it('the options of Sentinel are valid', async () => {
  const { queues } = await loadExample<Example>('redis.md', 'sentinel');
  expect(queues).toMatchObject({ global: true });
});
