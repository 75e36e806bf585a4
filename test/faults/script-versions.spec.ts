// Two versions of the library on one queue, as in a rolling deployment, while the server forgets its scripts.
import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { luaScripts } from '../../src/queue/lua.generated.js';
import { Traffic } from '../support/traffic.js';
import { connect } from '../support/redis.js';
import { startOwnRedis } from '../support/own-redis.js';
import { newQueue, startWorker } from '../support/workers.js';
import { knowsCommit, WorkerProcess } from '../support/worker-process.js';

it('two versions of the scripts work on one queue, and SCRIPT FLUSH costs neither a job', async () => {
  const server = await startOwnRedis();
  const observer = connect({}, server.url);
  const queue = newQueue({}, connect({}, server.url));
  const worker = await startWorker(queue, undefined, { perQueue: 2 });
  const other = await WorkerProcess.start({
    queue: queue.name,
    workMs: 1,
    redisUrl: server.url,
    scriptComment: 'another version',
  });
  const traffic = new Traffic(newQueue({}, connect({}, server.url), queue.name));
  for (let flushes = 0; flushes < 5; flushes++) {
    await traffic.more(20);
    await observer.script('FLUSH');
  }
  await traffic.more(20);
  const shas = ['', '-- another version\n'].map((end) =>
    createHash('sha1')
      .update(luaScripts.claim + end)
      .digest('hex'),
  );
  expect(await observer.script('EXISTS', ...shas)).toEqual([1, 1]); // both were at work
  await other.event('completed');
  await worker.event('completed');
  await traffic.settle(observer);
  expect((await queue.stats()).totals.completed).toBe(traffic.acknowledged.length);
  await other.signal('SIGTERM');
});

/**
 * A worker as it was before jobs on their last chance ran alone, before a trip completed and claimed in one script, and
 * before replacements were remembered: other scripts, other calls, other fields in the hash of a job.
 */
const EARLIER = '9c47f1188a4ea102b2c47a22ddc8f13746e80118';

// Not in a shallow clone or a copy without the history, which cannot build it; jest then counts it as skipped.
(knowsCommit(EARLIER) ? describe : describe.skip)('a worker of an earlier state of the library', () => {
  it('shares a queue with one of now: each does its jobs, and takes back what the other leaves', async () => {
    const server = await startOwnRedis();
    const observer = connect({}, server.url);
    const options = { visibilityMs: 1_000, maxAttempts: 10, maxCrashes: 10 };
    const queue = newQueue(options, connect({}, server.url));
    const earlier = {
      queue: queue.name,
      queueOptions: options,
      workerOptions: { sweepIntervalMs: 200 },
      workMs: 5,
      redisUrl: server.url,
      commit: EARLIER,
    };
    const kinds = [{}, { delayMs: 50 }, { priority: 3 }, { maxAttempts: 4 }];
    const traffic = new Traffic(newQueue(options, connect({}, server.url), queue.name), {
      enqueueOptions: (i) => kinds[i % kinds.length]!,
    });
    const worker = await startWorker(queue, () => new Promise((resolve) => setTimeout(resolve, 5)), {
      perQueue: 2,
      sweepIntervalMs: 200,
    });
    const killed = await WorkerProcess.start({ ...earlier, workMs: 400 });
    await traffic.more(30);
    await killed.event('started');
    await worker.event('completed', 10);
    await killed.signal('SIGKILL'); // what it had claimed is taken back by the one of now
    const other = await WorkerProcess.start(earlier);
    await traffic.more(50);
    await other.event('completed');
    await worker.worker.stop();
    const deserted = (await queue.claim({ timeoutMs: 5_000 }))!; // what is left here is taken back by the earlier one
    await traffic.more(10);
    await traffic.settle(observer, 20_000);
    expect(await queue.get(deserted.id)).toMatchObject({ status: 'completed', crashes: 1 });
    expect((await queue.stats()).totals).toMatchObject({ completed: traffic.acknowledged.length });
    expect((await queue.doctor()).findings).toEqual([]);
    await other.signal('SIGTERM');
  }, 60_000);
});
