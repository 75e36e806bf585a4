// A master that Sentinel replaces while workers run.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { connect, uniqueQueueName } from '../support/redis.js';
import { startSentinelSet, type SentinelSet } from '../support/topologies.js';
import { Traffic } from '../support/traffic.js';
import { leaveBroken, newQueue, startWorker } from '../support/workers.js';

let set: SentinelSet;
beforeAll(async () => {
  set = await startSentinelSet();
}, 30_000);

describe('a master that is killed', () => {
  it('is followed by its replica: no job that the replica had is lost, and work goes on within 2 s', async () => {
    const name = uniqueQueueName();
    // What was claimed is claimed anew where the failover lost how it ended.
    const options = { visibilityMs: 1_500, maxAttempts: 10, maxCrashes: 10 };
    const queue = newQueue(options, set.connect(), name);
    const producer = newQueue(options, set.connect(), name);
    leaveBroken(producer); // one of the two is enough
    const worker = await startWorker(queue, () => undefined, { sweepIntervalMs: 300 });
    const master = connect({ retryStrategy: () => null }, set.master.url);
    master.on('error', () => undefined);
    let killed = false;
    // A write is lost with its master unless a replica had it: WAIT asks, on the connection that wrote last.
    const secured = async (): Promise<boolean> => {
      if (killed) return (await producer.get(`t${traffic.acknowledged.length}`)) !== null;
      await master.set(`probe:${name}`, 1);
      return (await master.wait(1, 500)) >= 1;
    };
    const traffic: Traffic = new Traffic(producer, { secured });
    await traffic.more(50);
    killed = true;
    await set.master.kill();
    await set.switched();
    const switchedAt = performance.now();
    await worker.event('completed', worker.count('completed') + 1);
    expect(performance.now() - switchedAt).toBeLessThan(2_000);
    await traffic.more(30);
    await traffic.settle(connect({}, set.replica.url));
  }, 30_000);
});
