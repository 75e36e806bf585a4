// A completed job leaves a promise behind, which ends its process each time. An innocent job runs longer than that.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { JobQueue, Worker } from 'nest-job-queue/core';

const [LEFT_FOR_MS, INNOCENT_MS] = [1_000, 2_000];
const [, , serves, name = `case-left-${process.pid}`] = process.argv;
const redis = new Redis(process.env.REDIS_URL);
const options = { visibilityMs: 600 };
const sloppy = new JobQueue(redis, `${name}-sloppy`, options);
const innocent = new JobQueue(redis, `${name}-innocent`, options);

if (serves) {
  const leave = () => void setTimeout(() => void Promise.reject(new Error('left behind')), LEFT_FOR_MS);
  const run = () => sleep(INNOCENT_MS, 'fine');
  const worker = new Worker(
    [
      { queue: sloppy, handlers: { [sloppy.name]: leave } },
      { queue: innocent, handlers: { [innocent.name]: run } },
    ],
    { sweepIntervalMs: 100, logFailures: false },
  );
  await worker.start();
} else {
  let child;
  let deaths = 0;
  const start = () => {
    child = fork(fileURLToPath(import.meta.url), ['serves', name], { stdio: 'ignore' });
    child.once('exit', () => (deaths++, start()));
  };
  start();
  const producer = setInterval(() => void sloppy.enqueue({}), 100);
  const job = await innocent.enqueue({});
  const result = await job.result({ timeoutMs: 170_000 }).catch((error) => error.message);
  clearInterval(producer);
  child.removeAllListeners('exit');
  child.kill('SIGKILL');
  const { crashes } = await job.get();
  assert.equal(result, 'fine', `the innocent job ends well, after ${crashes} crashes and ${deaths} deaths`);
  assert.ok(deaths > 1 && crashes > 1, `it must have been blamed before: ${crashes} crashes, ${deaths} deaths`);
  for (const queue of [sloppy, innocent]) {
    await queue.purge({ confirm: queue.name });
    queue.close();
  }
  redis.disconnect();
}
