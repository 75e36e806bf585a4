import { expect, it } from '@jest/globals';
import { expectUnchanged, TestQueue, testQueue } from '../../support/queue/queue-state.js';

it('I5: announces a worker of the queue, by the time of the server', async () => {
  const q = testQueue();
  const before = await q.now();
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  const seen = Number(await q.redis.zscore(q.keys.workers, 'w1'));
  expect(seen).toBeGreaterThanOrEqual(before);
  expect(seen).toBeLessThanOrEqual(await q.now());
  await q.run(q.scripts.workers.register({ worker: 'w2', serves: true }));
  expect((await q.run(q.scripts.stats())).workers).toBe(2);
});

it('announces its maxPayloadBytes, if it is larger than usual; the largest stays', async () => {
  const q = testQueue();
  const noted = () => q.redis.hget(q.keys.sweep, 'largest_payload_bytes');
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  expect(await noted()).toBeNull();
  const larger = new TestQueue(q.redis, { maxPayloadBytes: 40_000_000 }, q.name);
  await larger.run(larger.scripts.workers.register({ worker: 'w2', serves: true }));
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  expect(await noted()).toBe('40000000');
});

it('announces the limits of its handlers, by which a replica without them decides', async () => {
  const q = testQueue({ maxAttempts: 9, maxCrashes: 9 });
  await q.addAndClaim('a');
  await q.run(
    q.scripts.workers.register({
      worker: 'w1',
      serves: true,
      handlers: [{ name: q.name, maxAttempts: 1, maxCrashes: 5 }],
    }),
  );
  await q.expireClaims('a');
  const { reclaimed } = await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
  expect(reclaimed).toEqual([{ id: 'a', status: 'failed', worker: 'worker-1' }]);
  expect(await q.field('a', 'last_error')).toContain('(maxAttempts 1)');
});

it('counts as a first sweep, so that an outage before it is recognized; a later sweep counts', async () => {
  const q = testQueue();
  const before = await q.now();
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  const lastRun = async () => Number(await q.redis.hget(q.keys.sweep, 'last_run_at_ms'));
  const first = await lastRun();
  expect(first).toBeGreaterThanOrEqual(before);
  await q.run(q.scripts.sweep.reclaim({ limit: 10, gapMs: 1e12, waitMs: 0 }));
  const swept = await lastRun();
  await q.run(q.scripts.workers.register({ worker: 'w2', serves: true }));
  expect(await lastRun()).toBe(swept);
});

it('keeps since when the queue is served while a worker lives', async () => {
  const q = testQueue();
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  const since = String((await q.now()) - 60_000);
  await q.redis.hset(q.keys.sweep, 'served_since_ms', since);
  await q.run(q.scripts.workers.register({ worker: 'w2', serves: true }));
  expect(await q.redis.hget(q.keys.sweep, 'served_since_ms')).toBe(since);
});

it('announces its stop; repeated it changes nothing', async () => {
  const q = testQueue();
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: false }));
  expect(await q.redis.exists(q.keys.workers)).toBe(0);
  await expectUnchanged(q, () => q.run(q.scripts.workers.register({ worker: 'w1', serves: false })));
});

it('I5: announces the names that it handles, by the time of the server', async () => {
  const q = testQueue();
  const before = await q.now();
  const limits = { maxAttempts: 1, maxCrashes: 1 };
  await q.run(
    q.scripts.workers.register({
      worker: 'w1',
      serves: true,
      handlers: [
        { name: 'mail', ...limits },
        { name: 'sms', ...limits },
      ],
    }),
  );
  expect(await q.redis.zrange(q.keys.names, 0, '-1')).toEqual(['mail', 'sms']);
  expect(Number(await q.redis.zscore(q.keys.names, 'sms'))).toBeGreaterThanOrEqual(before);
});

it('leaves the limits to the worker that announced them first, until that is silent for 30 s', async () => {
  const q = testQueue({ maxRunning: 1 });
  const other = new TestQueue(q.redis, { maxRunning: 2 }, q.name);
  const maxRunning = () => q.redis.hget(q.keys.settings, 'max_running');
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  await q.redis.zadd(q.keys.workers, (await q.now()) - 20_000, 'w1');
  await q.run(other.scripts.workers.register({ worker: 'w2', serves: true }));
  expect(await maxRunning()).toBe('1');
  await q.redis.zadd(q.keys.workers, (await q.now()) - 30_000, 'w1');
  await q.run(other.scripts.workers.register({ worker: 'w2', serves: true }));
  expect(await maxRunning()).toBe('2');
});

it('keeps the names of failure handlers for a day, and no other name, when the last worker stops', async () => {
  const q = testQueue();
  const limits = { maxAttempts: 1, maxCrashes: 1 };
  const handlers = [q.name, '@failed:mail'].map((name) => ({ name, ...limits }));
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers }));
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: false }));
  expect(await q.redis.zrange(q.keys.names, 0, '-1')).toEqual(['@failed:mail']);
  const lifetime = await q.redis.pttl(q.keys.names);
  expect(lifetime).toBeGreaterThan(86_300_000);
  expect(lifetime).toBeLessThanOrEqual(86_400_000);
});

it('removes the announcements when the last worker of an empty queue stops', async () => {
  const q = testQueue();
  const handlers = [{ name: q.name, maxAttempts: 1, maxCrashes: 1 }];
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers }));
  await q.run(q.scripts.workers.register({ worker: 'w2', serves: true, handlers }));
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: false }));
  expect(Object.keys(await q.snapshot())).toEqual(['handler_limits', 'names', 'retention', 'sweep', 'workers']);
  await q.run(q.scripts.workers.register({ worker: 'w2', serves: false }));
  expect(await q.snapshot()).toEqual({});
});

it.each(['pending', 'claimed', 'failed', 'completed', 'cancelled'])(
  'keeps the announcements for a job that is %s when the last worker stops',
  async (state) => {
    const q = testQueue();
    const handlers = [{ name: q.name, maxAttempts: 1, maxCrashes: 1 }];
    await q.run(q.scripts.workers.register({ worker: 'w1', serves: true, handlers }));
    await q.add('a');
    const [job] = state === 'pending' || state === 'cancelled' ? [] : await q.claim(1);
    if (state === 'failed') {
      await q.fail(job!, { final: true });
    } else if (state === 'completed') {
      await q.complete(job!);
    } else if (state === 'cancelled') {
      await q.run(q.scripts.cancel({ id: 'a' }));
    }
    await q.run(q.scripts.workers.register({ worker: 'w1', serves: false }));
    expect(await q.redis.exists(q.keys.handlerLimits, q.keys.retention)).toBe(2);
  },
);

it.each(['w', '1', 'w11', '1w1'])('leaves the limits to w1, as long as it lives, also for %s', async (worker) => {
  const q = testQueue({ maxRunning: 3 });
  await q.run(q.scripts.workers.register({ worker: 'w1', serves: true }));
  const other = new TestQueue(q.redis, { maxRunning: 5 }, q.name);
  await other.run(other.scripts.workers.register({ worker, serves: true }));
  expect(await q.redis.hmget(q.keys.settings, 'max_running', 'limits_owner')).toEqual(['3', 'w1']);
});
