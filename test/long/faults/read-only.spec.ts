// A server that refuses writes: it became a replica under its clients, as in a failover behind one address.
import { describe, expect, it } from '@jest/globals';
import { JobHandler } from 'nest-job-queue';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { startApp } from '../../nest/app.js';
import { BACK_MS } from '../../support/queue/bounds.js';
import { FaultProxy } from '../../support/faults/fault-proxy.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect, uniqueQueueName } from '../../support/redis/redis.js';
import { startReplica } from '../../support/redis/replicas.js';
import { Traffic } from '../../support/faults/traffic.js';
import { eventually } from '../../support/faults/wait.js';
import { leaveBroken, newQueue, startWorker } from '../../support/worker/workers.js';

describe('a master that becomes a replica', () => {
  it('and a master again loses nothing, and work continues within 2 s', async () => {
    const server = await startOwnRedis();
    const admin = connect({}, server.url);
    const queue = newQueue({}, connect({}, server.url));
    const worker = await startWorker(queue);
    const traffic = new Traffic(newQueue({}, connect({}, server.url), queue.name), { everyMs: 20 });
    await traffic.more(10);
    const other = await startOwnRedis();
    // It keeps its data for as long as it cannot reach the new master.
    await other.kill('SIGSTOP');
    await admin.replicaof('127.0.0.1', other.port);
    await eventually(() => traffic.refusals.length > 3);
    expect(traffic.refusals.at(-1)).toMatch(/^not-sent: .*READONLY/);
    await admin.replicaof('NO', 'ONE');
    const backAt = performance.now();
    await worker.event('completed', worker.count('completed') + 1);
    expect(performance.now() - backAt).toBeLessThan(BACK_MS);
    await traffic.more(10);
    await traffic.settle(admin);
  });

  it.each([1, 5])(
    'is left permanently for the new master behind the same address within 2 s (%d queues)',
    async (count) => {
      const old = await startOwnRedis();
      const heir = await startReplica(old);
      const proxy = await FaultProxy.start(old.url);
      const client = connect({ maxRetriesPerRequest: null }, proxy.url);
      const queue = newQueue({}, client);
      const others = Array.from({ length: count - 1 }, () => newQueue({}, client));
      [queue, ...others].forEach(leaveBroken);
      const worker = await startWorker(
        [queue, ...others].map((each) => ({ queue: each, handlers: { [each.name]: () => undefined } })),
      );
      const producer = newQueue({}, connect({}, proxy.url), queue.name);
      leaveBroken(producer);
      const traffic = new Traffic(producer, { everyMs: 20 });
      await traffic.more(10);
      // The address leads to the new master from now on; connections that exist stay where they are.
      await traffic.stop();
      await connect({}, old.url).wait(1, 1_000);
      await connect({}, heir.url).replicaof('NO', 'ONE');
      await connect({}, old.url).replicaof('127.0.0.1', heir.port);
      proxy.retarget(heir.url);
      const switchedAt = performance.now();
      const after = new Traffic(newQueue({}, connect({}, proxy.url), queue.name), { prefix: 'after', everyMs: 20 });
      await worker.event('completed', worker.count('completed') + 1);
      expect(performance.now() - switchedAt).toBeLessThan(BACK_MS);
      await after.more(10);
      await after.settle(connect({}, heir.url));
      // The old producer is refused once, which takes it to the new master too.
      await producer.enqueue({}).catch((error: Error) => expect(error.message).toContain('READONLY'));
      expect(await producer.enqueue({})).toMatchObject({ outcome: 'new' });
      // The worker waits there too, and not on the old one.
      const listed = connect({}, heir.url);
      await eventually(async () => /flags=\w*b/.test(String(await listed.client('LIST'))), {
        what: 'a wait on the heir',
      });
      expect(worker.warnings).not.toContainEqual(expect.stringContaining('Polling once a second'));
    },
  );

  it('turns health red beyond its threshold, and green after', async () => {
    const server = await startOwnRedis();
    const admin = connect({}, server.url);
    const name = uniqueQueueName();
    @JobHandler(name)
    class Handler {
      handle() {}
    }
    const app = await startApp({ jobs: { redis: server.url }, providers: [Handler] });
    const health = app.get(JobQueueHealthIndicator);
    const status = async () => (await health.check('jobs', { maxSinceLastFetchMs: 1_500 })).jobs.status;
    expect(await status()).toBe('up');
    const other = await startOwnRedis();
    await other.kill('SIGSTOP');
    await admin.replicaof('127.0.0.1', other.port);
    await eventually(async () => (await status()) === 'down');
    await admin.replicaof('NO', 'ONE');
    await eventually(async () => (await status()) === 'up', { timeoutMs: 8_000 });
  });
});
