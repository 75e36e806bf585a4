// Jobs in no place, ids without a job, and jobs in two places. The doctor finds them, and puts them in the right place.
import { claimed, completed, failed, planted, type Planted } from './doctor-plants.js';

export const ofPlaces: Planted[] = [
  planted(
    'a pending job in no place',
    'orphan',
    { found: 'status pending, in no place', expected: 'in a place', after: 'pending' },
    async (state) => [await state.addAll('a', 'b'), await state.redis.lrem(state.keys.pending, 0, 'a')],
  ),
  planted(
    'an urgent job in no place',
    'orphan',
    { found: 'status pending, in no place', expected: 'in a place', after: 'prioritized' },
    async (state) => [await state.add('a', { priority: 5 }), await state.redis.del(state.keys.prioritized)],
  ),
  planted(
    'a scheduled job in no place',
    'orphan',
    { found: 'status scheduled, in no place', expected: 'in a place', after: 'scheduled' },
    async (state) => [await state.add('a', { delay_ms: 60_000 }), await state.redis.del(state.keys.scheduled)],
  ),
  planted(
    'a claimed job in no place',
    'orphan',
    { found: 'status processing, in no place', expected: 'in a place', after: 'claims' },
    async (state) => [await claimed(state), await state.redis.del(state.keys.claims)],
  ),
  planted(
    'a dead letter in no place',
    'orphan',
    { found: 'status failed, in no place', expected: 'in a place', after: 'dead' },
    async (state) => {
      await failed(state);
      await state.redis.del(state.keys.dead, state.keys.failed);
      await state.redis.pexpire(state.keys.job('a'), 60_000);
    },
  ),
  planted(
    'a job of an unknown status in no place',
    'orphan',
    { found: 'status lost, in no place', expected: 'in a place', after: 'dead' },
    (state) => state.redis.hset(state.keys.job('a'), { id: 'a', payload: '1', status: 'lost', name: 'x' }),
  ),
  ...(['pending', 'processing'] as const).map((list) =>
    planted(
      `an id without a job in ${list}`,
      'ghost',
      { found: `in ${list}, without a hash`, expected: 'a hash', after: 'dead' },
      (state) => state.redis.lpush(state.keys[list], 'a'),
    ),
  ),
  ...(['prioritized', 'scheduled', 'claims', 'dead'] as const).map((set) =>
    planted(
      `an id without a job in ${set}`,
      'ghost',
      { found: `in ${set}, without a hash`, expected: 'a hash', after: set === 'dead' ? 'none' : 'dead' },
      (state) => state.redis.zadd(state.keys[set], Date.now() + 60_000, 'a'),
    ),
  ),
  planted(
    'a key of another type in the place of a job',
    'ghost',
    { found: 'a string in the place of the hash', expected: 'a hash', after: 'none' },
    (state) => state.redis.set(state.keys.job('a'), 'text'),
  ),
  planted(
    'a pending job twice in the line',
    'double',
    { found: 'in pending and pending', expected: 'in one place', after: 'pending' },
    async (state) => [await state.addAll('a', 'b'), await state.redis.rpush(state.keys.pending, 'a')],
  ),
  planted(
    'a pending job that is in processing too',
    'double',
    { found: 'in pending and processing', expected: 'in one place', after: 'pending' },
    async (state) => [await state.add('a'), await state.redis.lpush(state.keys.processing, 'a')],
  ),
  planted(
    'a claimed job that waits too',
    'double',
    { found: 'in claims and pending', expected: 'in one place', after: 'claims' },
    async (state) => [await claimed(state), await state.redis.lpush(state.keys.pending, 'a')],
  ),
  planted(
    'a completed job twice in the history',
    'double',
    { found: '2 times in completed', expected: 'once', after: 'none' },
    async (state) => [await completed(state), await state.redis.lpush(state.keys.completed, 'a')],
  ),
  planted(
    'a dead letter twice in the history',
    'double',
    { found: '2 times in failed', expected: 'once', after: 'dead' },
    async (state) => [await failed(state), await state.redis.rpush(state.keys.failed, 'a')],
  ),
  planted(
    'a cancelled job twice in the history',
    'double',
    { found: '2 times in cancelled', expected: 'once', after: 'none' },
    async (state) => [
      await state.add('a'),
      await state.run(state.scripts.cancel({ id: 'a' })),
      await state.redis.rpush(state.keys.cancelled, 'a'),
      await state.redis.hincrby(state.keys.stats, 'cancelled_total', 1), // as the step that was applied twice
    ],
  ),
  planted(
    'a scheduled job that is a dead letter too',
    'double',
    { found: 'in scheduled and dead', expected: 'in one place', after: 'scheduled' },
    async (state) => [
      await state.add('a', { delay_ms: 60_000 }),
      await state.redis.zadd(state.keys.dead, Date.now(), 'a'),
    ],
  ),
];
