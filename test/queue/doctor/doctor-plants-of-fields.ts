// What is wrong in a job itself, in unique keys and in counters: what the doctor must find.
import { claimed, completed, failed, planted, type Planted } from './doctor-plants.js';

export const ofFields: Planted[] = [
  planted(
    'a pending job that claims to be processed',
    'status',
    { found: 'processing', expected: 'pending, since it is in pending', after: 'pending' },
    async (state) => [await state.add('a'), await state.redis.hset(state.keys.job('a'), 'status', 'processing')],
  ),
  planted(
    'a claimed job without a token',
    'token',
    { found: 'none', expected: 'a claim token, since it is in claims', after: 'pending' },
    async (state) => [await claimed(state), await state.redis.hset(state.keys.job('a'), 'claim_token', '')],
  ),
  planted(
    'a scheduled job with a token',
    'token',
    { found: 'a claim token', expected: 'none, since it is in scheduled', after: 'scheduled' },
    async (state) => [
      await state.add('a', { delay_ms: 60_000 }),
      await state.redis.hset(state.keys.job('a'), 'claim_token', 'x'),
    ],
  ),
  planted(
    'a claim that never expires',
    'claim',
    { found: 'an expiry that never comes', expected: 'an expiry', after: 'claims' },
    async (state) => [await claimed(state), await state.redis.zadd(state.keys.claims, '+inf', 'a')],
  ),
  planted(
    'a pending job that would expire',
    'lifetime',
    { found: /^expires in \d+ ms$/, expected: 'no expiry, since it is in pending', after: 'pending' },
    async (state) => [await state.addAll('a', 'b'), await state.redis.pexpire(state.keys.job('a'), 60_000)],
  ),
  planted(
    'a scheduled job that would expire',
    'lifetime',
    { found: /^expires in \d+ ms$/, expected: 'no expiry, since it is in scheduled', after: 'scheduled' },
    async (state) => [
      await state.add('a', { delay_ms: 60_000 }),
      await state.redis.pexpire(state.keys.job('a'), 60_000),
    ],
  ),
  planted(
    'a completed job that would live for ever',
    'lifetime',
    { found: 'no expiry', expected: 'an expiry, since it is completed', after: 'none' },
    async (state) => {
      await completed(state);
      await state.redis.persist(state.keys.job('a'));
    },
  ),
  planted(
    'a unique key of a job that is gone',
    'unique',
    { subject: 'order-1', found: 'held by gone, which does not exist', expected: 'held by an unfinished job' },
    (state) => state.redis.hset(state.keys.unique, 'order-1', 'gone'),
  ),
  planted(
    'a unique key of a job that has ended',
    'unique',
    { subject: 'order-1', found: 'held by a, which is completed', expected: 'held by an unfinished job' },
    async (state) => {
      await completed(state);
      await state.redis.hset(state.keys.unique, 'order-1', 'a');
    },
  ),
  planted(
    'a counter that is no number',
    'counter',
    { subject: 'enqueued_total', found: 'many', expected: 'a whole number from 0' },
    (state) => state.redis.hset(state.keys.stats, 'enqueued_total', 'many'),
  ),
  planted(
    'a counter lower than the completed jobs that can be seen',
    'counter',
    { subject: 'completed_total', found: '0', expected: 'a whole number from 1' },
    async (state) => {
      await completed(state);
      await state.redis.del(state.keys.stats);
    },
  ),
  planted(
    'a counter lower than the dead letters',
    'counter',
    { subject: 'failed_total', found: '0', expected: 'a whole number from 1', after: 'dead' },
    async (state) => [await failed(state), await state.redis.hset(state.keys.stats, 'failed_total', 0)],
  ),
  planted(
    'a counter lower than the jobs that wait',
    'counter',
    { subject: 'enqueued_total', found: '3', expected: 'a whole number from 4', after: 'pending' },
    async (state) => {
      await state.addAll('a', 'b');
      await state.add('later', { delay_ms: 60_000 });
      await state.add('urgent', { priority: 2 });
      await state.redis.hset(state.keys.stats, 'enqueued_total', 3);
    },
  ),
];
