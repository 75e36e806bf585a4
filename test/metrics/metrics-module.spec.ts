// JobQueueMetricsModule measures all queues and workers of an app without a list, and leaves the registry with the app.
import { expect, it } from '@jest/globals';
import { InvalidOptionError, JobQueueService } from 'nest-job-queue';
import { JobQueueMetricsModule } from 'nest-job-queue/metrics';
import * as promClient from 'prom-client';
import { handlerOf, startApp } from '../nest/app.js';
import { eventually } from '../support/faults/wait.js';
import { uniqueQueueName } from '../support/redis/redis.js';

it('a scrape has the queues of handlers, of options and of calls, and the attempts and trips of the worker', async () => {
  const [handled, declared, called] = [uniqueQueueName(), uniqueQueueName(), uniqueQueueName()];
  const registry = new promClient.Registry();
  const start = () =>
    startApp({
      jobs: { queues: { [declared]: {} } },
      imports: [JobQueueMetricsModule.forRoot({ registry })],
      providers: [handlerOf(handled, () => 1)],
    });
  const app = await start();
  const jobs = app.get(JobQueueService);
  await jobs.enqueue(called, 1);
  await (await jobs.enqueue(handled, 1)).result({ timeoutMs: 10_000 });
  const ended = `job_queue_attempts_total{queue="${handled}",name="${handled}",outcome="completed"} 1`;
  await eventually(async () => (await registry.metrics()).includes(ended));
  const text = await registry.metrics();
  for (const queue of [handled, declared, called]) expect(text).toContain(`job_queue_up{queue="${queue}"} 1`);
  expect(text).toContain('job_queue_operation_duration_seconds_count{operation="claim"}');

  await app.close();
  expect(await registry.metrics()).not.toContain('job_queue');
  await start(); // a second app of this process registers them again
  expect(await registry.metrics()).toContain(`job_queue_up{queue="${declared}"} 1`);
});

it('wrong options are refused by name', () => {
  expect(() => JobQueueMetricsModule.forRoot({ registry: 1 as never })).toThrow(InvalidOptionError);
  expect(() => JobQueueMetricsModule.forRoot({ connections: ['a b'] })).toThrow(/connections/);
  expect(() => JobQueueMetricsModule.forRoot({ queues: [] } as never)).toThrow(/queues/);
});
