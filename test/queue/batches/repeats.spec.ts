// Every script of batches may run twice, because clients repeat calls without a reply. Each also works while Redis is
// out of memory.
import { describe, expect, it } from '@jest/globals';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { expectUnchanged, queueOn, testQueue, type TestQueue, queueWith } from '../../support/queue/queue-state.js';
import { followUpRef, refTo } from '#queue/store/job-ref.js';

const THEN = { kind: 'then', name: 'then', payload: '1', options: { batch: followUpRef('b') } } as const;
const definition = {
  id: 'b',
  hasOwnId: true,
  failFast: false,
  resultTtlMs: 60_000,
  recordTtlMs: 604_800_000,
  followUps: [THEN],
};

/** Makes a batch of waiting members, enqueued by the script. */
async function batchOf(q: TestQueue, ...ids: string[]) {
  await q.run(q.scripts.batches.create(definition));
  const options = { batch: 'b' };
  const call = q.scripts.enqueue(ids.map((id) => ({ id, name: q.name, payload: '{}', options })));
  await q.run(call);
  return call;
}

const status = (q: TestQueue) => q.run(q.scripts.batches.status({ id: 'b' }));

describe('changes nothing the second time', () => {
  it('create', async () => {
    const q = testQueue();
    expect(await q.run(q.scripts.batches.create(definition))).toBe('created');
    await expectUnchanged(q, async () => {
      expect(await q.run(q.scripts.batches.create({ ...definition, failFast: true, followUps: [] }))).toBe(
        'exists',
      );
    });
  });

  it('enqueue of members, also after the seal, and after one has ended and its hash has gone', async () => {
    const q = testQueue();
    const call = await batchOf(q, 'x', 'y');
    await expectUnchanged(q, () => q.run(call));
    await q.run(q.scripts.batches.seal({ id: 'b' }));
    await expectUnchanged(q, () => q.run(call));
    const [x] = await q.claim(1);
    await q.complete(x!);
    await q.redis.del(q.keys.job(x!.id), q.keys.completed);
    await q.run(call); // the window of the id is over: a job of that id, but no member twice
    expect(await status(q)).toMatchObject({ total: 2, open: 1, completed: 1 });
  });

  it('join, seal, stop and cancel', async () => {
    const q = testQueue();
    await batchOf(q, 'x');
    const { batches } = q.scripts;
    for (const call of [
      batches.join({ id: 'b', members: [refTo('other', '1')] }),
      batches.stop({ id: 'b' }),
      batches.seal({ id: 'b' }),
      batches.cancel({ ids: ['x'] }),
    ]) {
      const first = await q.run<unknown>(call);
      await expectUnchanged(q, async () => expect(await q.run<unknown>(call)).toEqual(first));
    }
    expect(await q.run(batches.seal({ id: 'none' }))).toBe('missing');
    expect(await q.run(batches.stop({ id: 'none' }))).toBe('missing');
    expect(await q.run(batches.join({ id: 'none', members: [refTo('other', '1')] }))).toBe('no-batch');
  });

  it('complete and fail of the last members', async () => {
    const q = testQueue();
    await batchOf(q, 'x', 'y');
    await q.run(q.scripts.batches.seal({ id: 'b' }));
    const [x, y] = await q.claim(2);
    const error = { name: 'Error', message: 'no' };
    const failure = q.scripts.fail([{ ...x!, error, final: true, backoffMs: 0 }]);
    const completion = q.scripts.complete([{ ...y!, result: '1' }]);
    for (const call of [failure, completion]) {
      await q.run<unknown>(call);
      await expectUnchanged(q, () => q.run<unknown>(call));
    }
    expect(await status(q)).toMatchObject({ state: 'ended', failed: 1, completed: 1 });
  });

  it('an enqueue with `after`', async () => {
    const q = await queueWith('first');
    const options = { after: ['first'] };
    const call = q.scripts.enqueue([{ id: 'next', name: q.name, payload: '{}', options }]);
    await q.run(call);
    await expectUnchanged(q, () => q.run(call));
    expect(await q.field('first', 'dependents')).toBe('next');
    const [first] = await q.claim(1);
    await q.complete(first!);
    await expectUnchanged(q, () => q.complete(first!));
    await expectUnchanged(q, () => q.run(call));
    expect(await q.claim(2)).toMatchObject([{ id: 'next' }]);
  });
});

it('fires, seals and maintains while Redis is out of memory', async () => {
  const server = await startOwnRedis();
  const redis = connect({}, server.url);
  const q = queueOn(redis, {});
  await batchOf(q, 'x', 'y', 'z');
  const [x, y] = await q.claim(2);
  await redis.config('SET', 'maxmemory', '1');
  await q.run(q.scripts.batches.seal({ id: 'b' }));
  await q.complete(x!);
  await q.fail(y!, { error: { name: 'E', message: 'm' }, final: true });
  await q.run(q.scripts.remove({ id: 'z' }));
  await q.run(q.scripts.sweep.maintainBatches({ limit: 10, all: true }));
  expect(await status(q)).toMatchObject({ completed: 1, failed: 1, removed: 1, state: 'ended' });
  await expect(q.run(q.scripts.batches.create({ ...definition, id: 'c' }))).rejects.toThrow('OOM');
});
