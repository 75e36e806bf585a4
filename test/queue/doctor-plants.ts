// What the doctor must find: one fault of each kind, and where its job is when it has been mended.
import type { DoctorKind } from '../../src/queue/doctor-report.js';
import type { TestQueue } from '../support/queue-state.js';

export interface Planted {
  name: string;
  plant: (state: TestQueue) => Promise<unknown>;
  kind: DoctorKind;
  subject?: string;
  found: string | RegExp;
  expected: string | RegExp;
  /** Where the job `a` is after mending. */
  after?: string;
}

export async function claimed(state: TestQueue) {
  return state.addAndClaim('a');
}

async function completed(state: TestQueue) {
  await state.run(state.scripts.complete([{ ...(await claimed(state)), result: '' }]));
}

async function failed(state: TestQueue) {
  const error = { name: 'Error', message: 'no' };
  await state.run(state.scripts.fail([{ ...(await claimed(state)), error, final: true, backoffMs: 0 }]));
}

export const planted: Planted[] = [
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
