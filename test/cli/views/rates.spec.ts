// Rates and quantiles of the last minutes in `stats` and `top`.
import { expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { silentLogger } from '#queue/runtime/logger.js';
import { Sweeper } from '#worker/maintenance/sweeper.js';
import { sleep } from '../../support/faults/wait.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { startWorker } from '../../support/worker/workers.js';
import { cli, cliOnTerminal } from '../run-cli.js';

const MINUTE = 60_000;

async function everyTenthFails({ payload }: { payload: number }): Promise<void> {
  await sleep(30);
  if (payload % 10 === 0) throw new Error('down');
}

/** Makes a queue with four recorded minutes: 90 jobs came and ran for 30 ms, every tenth failed. */
async function recorded(): Promise<JobQueue> {
  const clock = { nowMs: Math.floor(Date.now() / MINUTE) * MINUTE - 3 * MINUTE };
  const queue = new JobQueue(connectClocked(clock), uniqueQueueName());
  const sweep = () => new Sweeper([queue], 5_000, silentLogger, {}).runOnce();
  await sweep();
  for (let minute = 0; minute < 3; minute++) {
    const worker = await startWorker(queue, everyTenthFails, { perQueue: 30 });
    const jobs = await queue.enqueueMany(Array.from({ length: 30 }, (_, payload) => ({ payload, maxAttempts: 1 })));
    await Promise.allSettled(jobs.map((job) => job.result()));
    await worker.worker.stop();
    clock.nowMs += MINUTE;
    await sweep();
  }
  return queue;
}

it('shows jobs in and out per second, p95 of wait and run time, and the share that failed', async () => {
  const queue = await recorded();
  const { stdout } = await cli(['stats', queue.name]);
  const [head, row] = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
  const figures = Object.fromEntries(head!.map((name, i) => [name, row![i + 1]]));
  expect(figures).toMatchObject({ 'in/s': '0.5', 'out/s': '0.5', failed: '10.0 %' });
  expect(figures['run p95']).toMatch(/^\d\d+ ms$/);
  expect(figures['wait p95']).toMatch(/^\d[\d.]* m?s$/);
  const top = await cliOnTerminal(['top', queue.name, '--count', '1']);
  expect(top.stdout).toMatch(/0\.5 +0\.5 +\d+ +\d[\d.]* m?s +\d\d+ ms +10\.0 %/);
  const json = JSON.parse((await cli(['stats', queue.name, '--json'])).stdout) as {
    queues: Record<string, object>;
  };
  expect(json.queues[queue.name]).toMatchObject({
    rates: { in: 0.5, out: 0.5, failedShare: 0.1 },
    run: { count: 90, p95: expect.any(Number) },
    wait: { count: 90, p95: expect.any(Number) },
  });
  queue.close();
}, 60_000);
