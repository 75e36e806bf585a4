// Processes of runWorkers run the module only, and no file that calls `startWorkers`. So with `worker: 'manual'` they start their
// workers themselves, after their bootstrap.
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { runWorkers } from '#processes/worker-processes.js';
import { bundle } from '../support/bundle.mjs';
import { patiently } from '../support/faults/wait.js';
import { connect, testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';

it("runs jobs with `worker: 'manual'`, once the app has booted", async () => {
  const queue = new JobQueue(connect(), uniqueQueueName());
  const job = await queue.enqueue({});
  const workers = await runWorkers(class {}, {
    processes: 1,
    entry: await bundle(join(import.meta.dirname, 'apps/manual.ts'), '.cache/programs/manual.mjs'),
    ownsProcess: false,
    logger: false,
    env: { REDIS_URL: testRedisUrl(), TEST_QUEUE: queue.name },
  });
  try {
    await patiently(() => workers.ready, { timeoutMs: 60_000 });
    expect(await job.result({ timeoutMs: 20_000 })).toBe('loaded');
  } finally {
    await workers.stop();
    queue.close();
  }
}, 90_000);
