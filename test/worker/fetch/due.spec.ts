// When a waiting worker starts delayed jobs that are due one after the other, by virtual time.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { ScriptStore } from '#memory/script-store.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { Worker } from '#worker/worker.js';

it('starts each job at most 1 ms late, although the next is due 2 ms later', async () => {
  const clock = new VirtualClock(undefined, 1);
  const queue = new JobQueue(new ScriptStore(clock), 'email');
  const late: number[] = [];
  const worker = new Worker(
    [
      {
        queue,
        concurrency: 10,
        handlers: { email: (job) => void late.push(clock.now() - (job.payload as number)) },
      },
    ],
    {},
  );
  await worker.start();
  const from = clock.now() + 1_000;
  await queue.enqueueMany(
    Array.from({ length: 10 }, (_, i) => ({ payload: from + 2 * i, delayMs: 1_000 + 2 * i })),
  );
  await clock.advance(2_000);
  expect(late).toHaveLength(10);
  expect(Math.max(...late)).toBeLessThanOrEqual(1);
  const stopping = worker.stop({ timeoutMs: 0 });
  await clock.advance(60_000);
  await stopping;
});
