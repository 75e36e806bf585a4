// A master that Sentinel replaces while workers run.
import { beforeEach, expect, it } from '@jest/globals';
import { BACK_MS } from '../../support/queue/bounds.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startSentinelSet, type SentinelSet } from '../../support/redis/sentinel-set.js';
import { Traffic } from '../../support/faults/traffic.js';
import { eventually } from '../../support/faults/wait.js';
import { leaveBroken, newQueue, startWorker } from '../../support/worker/workers.js';

// A job is claimed again if the failover lost its end.
const options = { visibilityMs: 1_500, maxAttempts: 10, maxCrashes: 10 };

let set: SentinelSet;
beforeEach(async () => {
  set = await startSentinelSet();
}, 30_000);

it('a master that is killed is followed by its replica: no job that the replica had is lost, and work continues within 2 s', async () => {
  const name = uniqueQueueName();
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
  expect(performance.now() - switchedAt).toBeLessThan(BACK_MS);
  await traffic.more(30);
  await traffic.settle(connect({}, set.replica.url));
}, 30_000);

it('a master that freezes, and continues when another has taken its place loses only writes that it alone received', async () => {
  const name = uniqueQueueName();
  const { master: old, replica: heir } = set;
  const queue = newQueue(options, set.connect(), name);
  const producer = newQueue(options, set.connect(), name);
  leaveBroken(producer);
  const worker = await startWorker(queue, () => undefined, { sweepIntervalMs: 300 });
  const control = connect({ retryStrategy: () => null }, old.url);
  const onOld = newQueue(options, connect({}, old.url), name);
  leaveBroken(onOld);
  await onOld.stats();
  let time: 'before' | 'two masters' | 'after' = 'before';
  const secured = async (): Promise<boolean> => {
    if (time !== 'before') {
      return time === 'after' && (await producer.get(`t${traffic.acknowledged.length}`)) !== null;
    }
    await control.set(`probe:${name}`, 1);
    return (await control.wait(1, 500)) >= 1;
  };
  const traffic: Traffic = new Traffic(producer, { secured });
  await traffic.more(50);
  time = 'two masters';
  await old.kill('SIGSTOP');
  await set.switched();
  await old.kill('SIGCONT');
  const { id } = await onOld.enqueue('told the old one');
  expect(await control.info('replication')).toContain('role:master');
  const follower = connect({ retryStrategy: () => 50 }, old.url);
  follower.on('error', () => undefined);
  await eventually(async () => (await follower.info('replication')).includes('master_link_status:up'), {
    timeoutMs: 20_000,
    what: 'an old master that follows the new one',
  });
  time = 'after';
  const followsAt = performance.now();
  const completed = worker.count('completed');
  await traffic.more(30);
  await worker.event('completed', completed + 30);
  expect(performance.now() - followsAt).toBeLessThan(BACK_MS);
  const now = connect({}, heir.url);
  await traffic.settle(now);
  expect(await newQueue(options, now, name).get(id)).toBeNull();
}, 60_000);
