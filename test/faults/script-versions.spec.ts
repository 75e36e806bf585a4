// Two versions of the library on one queue, as in a rolling deployment, while the server forgets its scripts.
import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { luaScripts } from '../../src/queue/lua.generated.js';
import { Traffic } from '../support/traffic.js';
import { connect } from '../support/redis.js';
import { startOwnRedis } from '../support/own-redis.js';
import { newQueue, startWorker } from '../support/workers.js';
import { WorkerProcess } from '../support/worker-process.js';

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
