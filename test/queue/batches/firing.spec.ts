// The step that fires a batch: no error in it loses a follow-up, and its decision is exact.
import { describe, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import type { ClaimedJob } from '#queue/model/job.js';
import { systemClock } from '#queue/runtime/clock.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { ScriptStore } from '#memory/script-store.js';
import { ScriptServer } from '#memory/server/script-server.js';
import { viewOf } from '../../support/memory/memory-view.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { coreQueue } from '../../support/queue/core-queue.js';

const FOLLOW_UPS = { then: { name: 'then' }, onFailure: { name: 'broke' }, finally: { name: 'last' } };

it('enqueues each follow-up where a counter of the queue is not a number', async () => {
  const { queue, state } = coreQueue();
  const batch = queue.batch(FOLLOW_UPS);
  await batch.add(queue.name, 1);
  await batch.seal();
  const [member] = await queue.claimMany(1);
  await state.redis.hset(state.keys.stats, 'enqueued_total', 'many');
  await queue.complete(member!);
  expect(await batch.status()).toMatchObject({ state: 'fired' });
  expect((await queue.claimMany(3)).map(({ name }) => name).toSorted()).toEqual(['last', 'then']);
  await state.redis.hdel(state.keys.stats, 'enqueued_total');
});

it('fires at the next look where the step broke off before its mark', async () => {
  const { queue, state } = coreQueue();
  const batch = queue.batch(FOLLOW_UPS);
  await batch.add(queue.name, 1);
  await batch.seal();
  const [member] = await queue.claimMany(1);
  const options = await state.redis.hget(state.keys.batchRecord(batch.id), 'finally_options');
  await state.redis.hset(state.keys.batchRecord(batch.id), 'finally_options', 'no JSON');
  await expect(queue.complete(member!)).rejects.toThrow();
  expect(await batch.status()).toMatchObject({ state: 'sealed', open: 0 });
  await state.redis.hset(state.keys.batchRecord(batch.id), 'finally_options', options!);
  await state.redis.zrem(state.keys.claims, member!.id);
  await state.redis.pexpire(state.keys.job(member!.id), 60_000);
  await state.redis.lpush(state.keys.completed, member!.id);
  await state.redis.zadd(state.keys.batches, 0, batch.id);
  await maintainBatches(queue);
  expect(await batch.status()).toMatchObject({ state: 'fired' });
  const followUps = await queue.claimMany(3);
  expect(followUps.map(({ name }) => name).toSorted()).toEqual(['last', 'then']);
  for (const each of followUps) await queue.complete(each);
  expect(await batch.status()).toMatchObject({ state: 'ended' });
});

describe('a batch that fires wakes a worker for its follow-ups', () => {
  it('on Redis', async () => {
    const { queue, state } = coreQueue();
    const member = await claimedMember(queue);
    await state.redis.del(state.keys.wake);
    await queue.complete(member);
    expect(await state.redis.zcard(state.keys.wake)).toBe(1);
  });

  it('in memory', async () => {
    const server = new ScriptServer(systemClock.now);
    const queue = new JobQueue(new ScriptStore(systemClock, { server }), uniqueQueueName());
    const member = await claimedMember(queue);
    const { keys } = await viewOf(queue);
    server.wait({ keys: [keys.wake], end: () => undefined })(); // takes the marker of the enqueue
    let isWoken = false;
    server.wait({ keys: [keys.wake], end: () => (isWoken = true) });
    expect(isWoken).toBe(false);
    await queue.complete(member);
    expect(isWoken).toBe(true);
  });
});

/** Claims the only member of a batch that is sealed. */
async function claimedMember(queue: JobQueue): Promise<ClaimedJob> {
  const batch = queue.batch({ then: { name: 'then' } });
  await batch.add(queue.name, 1);
  await batch.seal();
  const [member] = await queue.claimMany(1);
  return member!;
}
