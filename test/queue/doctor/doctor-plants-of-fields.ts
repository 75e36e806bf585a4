// What is wrong in a job itself, in unique keys and in counters: what the doctor must find.
import { claimed, completed, failed, type Planted } from './doctor-plants.js';

export const ofFields: Planted[] = [
  {
    name: 'a pending job that claims to be processed',
    plant: async (state) => [
      await state.add('a'),
      await state.redis.hset(state.keys.job('a'), 'status', 'processing'),
    ],
    kind: 'status',
    found: 'processing',
    expected: 'pending, since it is in pending',
    after: 'pending',
  },
  {
    name: 'a claimed job without a token',
    plant: async (state) => [await claimed(state), await state.redis.hset(state.keys.job('a'), 'claim_token', '')],
    kind: 'token',
    found: 'none',
    expected: 'a claim token, since it is in claims',
    after: 'pending',
  },
  {
    name: 'a scheduled job with a token',
    plant: async (state) => [
      await state.add('a', { delay_ms: 60_000 }),
      await state.redis.hset(state.keys.job('a'), 'claim_token', 'x'),
    ],
    kind: 'token',
    found: 'a claim token',
    expected: 'none, since it is in scheduled',
    after: 'scheduled',
  },
  {
    name: 'a claim that never expires',
    plant: async (state) => [await claimed(state), await state.redis.zadd(state.keys.claims, '+inf', 'a')],
    kind: 'claim',
    found: 'an expiry that never comes',
    expected: 'an expiry',
    after: 'claims',
  },
  {
    name: 'a pending job that would expire',
    plant: async (state) => [await state.addAll('a', 'b'), await state.redis.pexpire(state.keys.job('a'), 60_000)],
    kind: 'lifetime',
    found: /^expires in \d+ ms$/,
    expected: 'no expiry, since it is in pending',
    after: 'pending',
  },
  {
    name: 'a scheduled job that would expire',
    plant: async (state) => [
      await state.add('a', { delay_ms: 60_000 }),
      await state.redis.pexpire(state.keys.job('a'), 60_000),
    ],
    kind: 'lifetime',
    found: /^expires in \d+ ms$/,
    expected: 'no expiry, since it is in scheduled',
    after: 'scheduled',
  },
  {
    name: 'a completed job that would live for ever',
    plant: async (state) => {
      await completed(state);
      await state.redis.persist(state.keys.job('a'));
    },
    kind: 'lifetime',
    found: 'no expiry',
    expected: 'an expiry, since it is completed',
    after: 'none',
  },
  {
    name: 'a unique key of a job that is gone',
    plant: (state) => state.redis.hset(state.keys.unique, 'order-1', 'gone'),
    kind: 'unique',
    subject: 'order-1',
    found: 'held by gone, which does not exist',
    expected: 'held by an unfinished job',
  },
  {
    name: 'a unique key of a job that has ended',
    plant: async (state) => {
      await completed(state);
      await state.redis.hset(state.keys.unique, 'order-1', 'a');
    },
    kind: 'unique',
    subject: 'order-1',
    found: 'held by a, which is completed',
    expected: 'held by an unfinished job',
  },
  {
    name: 'a counter that is no number',
    plant: (state) => state.redis.hset(state.keys.stats, 'enqueued_total', 'many'),
    kind: 'counter',
    subject: 'enqueued_total',
    found: 'many',
    expected: 'a whole number from 0',
  },
  {
    name: 'a counter lower than the completed jobs that can be seen',
    plant: async (state) => {
      await completed(state);
      await state.redis.del(state.keys.stats);
    },
    kind: 'counter',
    subject: 'completed_total',
    found: '0',
    expected: 'a whole number from 1',
  },
  {
    name: 'a counter lower than the dead letters',
    plant: async (state) => [await failed(state), await state.redis.hset(state.keys.stats, 'failed_total', 0)],
    kind: 'counter',
    subject: 'failed_total',
    found: '0',
    expected: 'a whole number from 1',
    after: 'dead',
  },
  {
    name: 'a counter lower than the jobs that wait',
    plant: async (state) => {
      await state.addAll('a', 'b');
      await state.add('later', { delay_ms: 60_000 });
      await state.add('urgent', { priority: 2 });
      await state.redis.hset(state.keys.stats, 'enqueued_total', 3);
    },
    kind: 'counter',
    subject: 'enqueued_total',
    found: '3',
    expected: 'a whole number from 4',
    after: 'pending',
  },
];
