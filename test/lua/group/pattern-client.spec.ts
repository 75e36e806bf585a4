// What a client of the Redis pattern sees of a queue with groups and limits: plain jobs, and nothing else.
import { expect, it } from '@jest/globals';
import { coreQueue } from '../../support/queue/core-queue.js';
import { PatternClient } from '../../support/queue/pattern-client.js';
import { connect } from '../../support/redis/redis.js';

it('takes plain jobs, and never one with a group, a priority or a delay, also after its retry', async () => {
  const { queue, state } = coreQueue({ maxAttempts: 3 });
  const foreign = new PatternClient(state.redis, connect(), queue.name);
  await queue.enqueueMany([
    { payload: 'grouped', group: 'a' },
    { payload: 'urgent', priority: 5 },
    { payload: 'later', delayMs: 3_600_000 },
    { payload: 'plain' },
  ]);
  const taken = await foreign.claim();
  expect(taken).toMatchObject({ payload: 'plain' });
  expect(await foreign.claim(10)).toBeNull();
  const claims = await queue.claimMany(5);
  expect(claims.map(({ payload }) => String(payload)).toSorted()).toEqual(['grouped', 'urgent']);
  await queue.fail(
    claims.find(({ payload }) => payload === 'grouped')!,
    new Error('no'),
  );
  expect(await foreign.claim(10)).toBeNull();
  expect(await queue.claim()).toMatchObject({ payload: 'grouped', attempt: 2 });
});

it('counts for no limit of the queue', async () => {
  const { queue, state } = coreQueue();
  const foreign = new PatternClient(state.redis, connect(), queue.name);
  await queue.limits.set({ maxRunning: 1 });
  await queue.enqueueMany([1, 2, 3].map((payload) => ({ payload })));
  expect(await foreign.claim()).not.toBeNull();
  expect(await queue.claimMany(5)).toHaveLength(1);
  expect(await foreign.claim()).not.toBeNull();
});
