// Jobs in no place, ids without a job, and jobs in two places. The doctor finds them, and puts them in the right place.
import { claimed, completed, failed, type Planted } from './doctor-plants.js';

export const ofPlaces: Planted[] = [
  {
    name: 'a pending job in no place',
    plant: async (state) => [await state.addAll('a', 'b'), await state.redis.lrem(state.keys.pending, 0, 'a')],
    kind: 'orphan',
    found: 'status pending, in no place',
    expected: 'in a place',
    after: 'pending',
  },
  {
    name: 'an urgent job in no place',
    plant: async (state) => [await state.add('a', { priority: 5 }), await state.redis.del(state.keys.prioritized)],
    kind: 'orphan',
    found: 'status pending, in no place',
    expected: 'in a place',
    after: 'prioritized',
  },
  {
    name: 'a scheduled job in no place',
    plant: async (state) => [
      await state.add('a', { delay_ms: 60_000 }),
      await state.redis.del(state.keys.scheduled),
    ],
    kind: 'orphan',
    found: 'status scheduled, in no place',
    expected: 'in a place',
    after: 'scheduled',
  },
  {
    name: 'a claimed job in no place',
    plant: async (state) => [await claimed(state), await state.redis.del(state.keys.claims)],
    kind: 'orphan',
    found: 'status processing, in no place',
    expected: 'in a place',
    after: 'claims',
  },
  {
    name: 'a dead letter in no place',
    plant: async (state) => {
      await failed(state);
      await state.redis.del(state.keys.dead, state.keys.failed);
      await state.redis.pexpire(state.keys.job('a'), 60_000);
    },
    kind: 'orphan',
    found: 'status failed, in no place',
    expected: 'in a place',
    after: 'dead',
  },
  {
    name: 'a job of an unknown status in no place',
    plant: (state) => state.redis.hset(state.keys.job('a'), { id: 'a', payload: '1', status: 'lost', name: 'x' }),
    kind: 'orphan',
    found: 'status lost, in no place',
    expected: 'in a place',
    after: 'dead',
  },
  ...(['pending', 'processing'] as const).map((list): Planted => ({
    name: `an id without a job in ${list}`,
    plant: (state) => state.redis.lpush(state.keys[list], 'a'),
    kind: 'ghost',
    found: `in ${list}, without a hash`,
    expected: 'a hash',
    after: 'dead',
  })),
  ...(['prioritized', 'scheduled', 'claims', 'dead'] as const).map((set): Planted => ({
    name: `an id without a job in ${set}`,
    plant: (state) => state.redis.zadd(state.keys[set], Date.now() + 60_000, 'a'),
    kind: 'ghost',
    found: `in ${set}, without a hash`,
    expected: 'a hash',
    after: set === 'dead' ? 'none' : 'dead',
  })),
  {
    name: 'a key of another type in the place of a job',
    plant: (state) => state.redis.set(state.keys.job('a'), 'text'),
    kind: 'ghost',
    found: 'a string in the place of the hash',
    expected: 'a hash',
    after: 'none',
  },
  {
    name: 'a pending job twice in the line',
    plant: async (state) => [await state.addAll('a', 'b'), await state.redis.rpush(state.keys.pending, 'a')],
    kind: 'double',
    found: 'in pending and pending',
    expected: 'in one place',
    after: 'pending',
  },
  {
    name: 'a pending job that is in processing too',
    plant: async (state) => [await state.add('a'), await state.redis.lpush(state.keys.processing, 'a')],
    kind: 'double',
    found: 'in pending and processing',
    expected: 'in one place',
    after: 'pending',
  },
  {
    name: 'a claimed job that waits too',
    plant: async (state) => [await claimed(state), await state.redis.lpush(state.keys.pending, 'a')],
    kind: 'double',
    found: 'in claims and pending',
    expected: 'in one place',
    after: 'claims',
  },
  {
    name: 'a completed job twice in the history',
    plant: async (state) => [await completed(state), await state.redis.lpush(state.keys.completed, 'a')],
    kind: 'double',
    found: '2 times in completed',
    expected: 'once',
    after: 'none',
  },
  {
    name: 'a dead letter twice in the history',
    plant: async (state) => [await failed(state), await state.redis.rpush(state.keys.failed, 'a')],
    kind: 'double',
    found: '2 times in failed',
    expected: 'once',
    after: 'dead',
  },
  {
    name: 'a cancelled job twice in the history',
    plant: async (state) => [
      await state.add('a'),
      await state.run(state.scripts.cancel({ id: 'a' })),
      await state.redis.rpush(state.keys.cancelled, 'a'),
      await state.redis.hincrby(state.keys.stats, 'cancelled_total', 1), // as the step that was applied twice
    ],
    kind: 'double',
    found: '2 times in cancelled',
    expected: 'once',
    after: 'none',
  },
  {
    name: 'a scheduled job that is a dead letter too',
    plant: async (state) => [
      await state.add('a', { delay_ms: 60_000 }),
      await state.redis.zadd(state.keys.dead, Date.now(), 'a'),
    ],
    kind: 'double',
    found: 'in scheduled and dead',
    expected: 'in one place',
    after: 'scheduled',
  },
];
