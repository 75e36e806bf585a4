import { expect, it } from '@jest/globals';
import { JobQueueService } from 'nest-job-queue';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startApp } from '../app.js';

it('the service audits and repairs a queue by name', async () => {
  const app = await startApp({ jobs: { worker: false } });
  const jobs = app.get(JobQueueService);
  const name = uniqueQueueName();
  const { id } = await jobs.enqueue(name, { a: 1 });
  await connect().del(`queue:${name}:pending`);
  const { counts, findings } = await jobs.queue(name).doctor();
  expect(counts).toEqual({ orphan: 1 });
  expect(findings).toMatchObject([{ kind: 'orphan', subject: id, repaired: false }]);
  expect(await jobs.queue(name).doctor({ repair: true })).toMatchObject({
    queue: name,
    checked: 1,
    counts: { orphan: 1 },
  });
  expect(await jobs.queue(name).doctor()).toMatchObject({ counts: {} });
  expect(await jobs.queue(name).claim()).toMatchObject({ id });
});
