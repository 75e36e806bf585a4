import { expect, it } from '@jest/globals';
import { SeededQueue } from '../../../support/bullmq/seed-bullmq.js';
import { describeGiveBack, inTransit } from '../../../support/bullmq/transit-cases.js';
import { connect } from '../../../support/redis/redis.js';

describeGiveBack(SeededQueue);

it('wakes a worker of BullMQ', async () => {
  const { old, jobs } = await inTransit(SeededQueue, ['a']);
  await old.source.giveBack(jobs, 'bullmq6');
  expect(await old.redis.zrange(old.key('marker'), '0', '-1')).toEqual(['0']);
});

it('keeps the exact scores of sorted sets', async () => {
  const old = new SeededQueue(connect());
  await old.source.begin();
  await old.delayed('later', 1_900_000_000_123);
  await old.prioritized('urgent', 2 ** 20);
  const scores = () => Promise.all([old.redis.zscore(old.key('delayed'), 'later'), old.redis.zscore(old.key('prioritized'), 'urgent')]); // prettier-ignore
  const before = await scores();
  await old.source.take('delayed', ['later']);
  await old.source.take('prioritized', ['urgent']);
  await old.source.giveBack(await old.source.inTransit(), 'bullmq6');
  expect(await scores()).toEqual(before);
});

it.each([
  ['bull', 'paused'],
  ['bullmq5', 'paused'],
  ['bullmq6', 'wait'],
] as const)('gives a job back to the line of a paused queue of %s', async (era, line) => {
  const { old, jobs } = await inTransit(SeededQueue, ['a']);
  await old.redis.hset(old.key('meta'), 'paused', '1');
  await old.source.giveBack(jobs, era);
  expect(await old.line(line)).toEqual(['a']);
});

it('gives a job back to the line of a queue that an early version of Bull 4 has paused', async () => {
  const { old, jobs } = await inTransit(SeededQueue, ['a']);
  await old.redis.set(old.key('meta-paused'), '1');
  await old.source.giveBack(jobs, 'bull');
  expect([await old.line('paused'), await old.line('wait')]).toEqual([['a'], []]);
});

it('restores the priority of Bull, and writes no marker there', async () => {
  const old = new SeededQueue(connect());
  await old.source.begin();
  await old.wait('a');
  await old.redis.zadd(old.key('priority'), '4', 'a');
  await old.source.take('wait', ['a']);
  expect(await old.redis.zcard(old.key('priority'))).toBe(0);
  await old.source.giveBack(await old.source.inTransit(), 'bull');
  expect(await old.redis.zscore(old.key('priority'), 'a')).toBe('4');
  expect(await old.redis.exists(old.key('marker'))).toBe(0);
});
