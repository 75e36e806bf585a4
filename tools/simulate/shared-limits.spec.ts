// A limit that queues share is never exceeded, loses no permit at a kill, and is used under load. A named seed finds each
// planted fault.
import { expect, it } from '@jest/globals';
import { someOf } from '../../test/support/run/samples.js';
import { edit, type Edit } from './plants/plant.js';
import { killed, loaded, MOST_RUNNING, RATE } from './shared-limits.js';

const LEASES = 'sharedLimitLease';
/** What a job of the second queue costs, where it costs more. */
const COST = 4;
/** The same, where each of its jobs has a cost of its own. */
const DRAWN = { most: 5 };

/** The groups of jobs, each with the limit for itself. */
const GROUPS = ['acme', 'bolt'];

/** The faults of the scripts, each with what finds it. */
const PLANTS: Record<
  string,
  [edits: readonly Edit[], isFound: (seed: number, edits: readonly Edit[]) => Promise<boolean>]
> = {
  'more run than may': [
    [edit('*', 'max_running - redis.call', 'max_running + 1 - redis.call')],
    async (seed, edits) => (await killed(seed, edits)).mostRunning > MOST_RUNNING,
  ],
  'a permit never ends, so a kill loses it': [
    [edit('*', "redis.call('ZREMRANGEBYSCORE', permits, '-inf', now_text)", '')],
    async (seed, edits) => (await killed(seed, edits)).open > 0,
  ],
  'a job that ends keeps its permit': [
    [edit('sharedLimitGiveBack', "redis.call('ZREM', permits, holder .. ARGV[i]) == 1", 'false')],
    async (seed, edits) => (await killed(seed, edits)).open > 0,
  ],
  'a running job loses its permit': [
    [
      edit(
        'sharedLimitLease',
        "string.format('%.0f', now + life), holder .. i",
        "string.format('%.0f', now + 20), holder .. i",
      ),
    ],
    async (seed, edits) => (await killed(seed, edits)).mostRunning > MOST_RUNNING,
  ],
  'more start in a period than may': [
    [edit(LEASES, 'charge_rate(rate, granted *', 'charge_rate(rate, (granted - 1) *')],
    async (seed, edits) => (await loaded(seed, edits)).mostInPeriod > RATE.limit + RATE.burst,
  ],
  'no worker keeps the time of a rate': [
    [edit(LEASES, "if why == 'rate' and granted == 0 and not keeps_time(wait) then", "if why == 'rate' then")],
    async (seed, edits) => (await loaded(seed, edits)).served < 0.9,
  ],
  'a queue whose jobs cost more is charged one': [
    [edit(LEASES, 'charge_rate(rate, granted *', 'charge_rate(rate, granted + 0 *')],
    async (seed, edits) => (await loaded(seed, edits, COST)).mostInPeriod > RATE.limit + RATE.burst,
  ],
  'a claim takes a job that costs more than its permits have paid': [
    [edit('attemptClaimLimited', 'if costs[i] > each[3] then', 'if false then')],
    async (seed, edits) => (await loaded(seed, edits, DRAWN)).mostInPeriod > RATE.limit + RATE.burst,
  ],
  'a lease forgets what the next job costs, so that costly ones wait longer': [
    [edit(LEASES, 'cost = math.max(least, awaited,', 'cost = math.max(1,')],
    async (seed, edits) => (await loaded(seed, edits, DRAWN)).smallerShare < 0.4,
  ],
  'units that the jobs of a claim did not need are lost': [
    [edit('sharedLimitGiveBack', 'refunded[#refunded + 1] =', 'refunded[#refunded + 1] = renamed == "" and')],
    async (seed, edits) => (await loaded(seed, edits, DRAWN)).served < 0.9,
  ],
  'a permit whose units went back is gone, though its job runs': [
    [edit('sharedLimitGiveBack', "redis.call('ZADD', permits, ends_at, holder .. renamed)", '')],
    async (seed, edits) => (await killed(seed, edits, DRAWN)).mostRunning > MOST_RUNNING,
  ],
  'a queue whose jobs cost more starts fewer': [
    [edit(LEASES, 'if cost > 1 then', 'if false then')],
    async (seed, edits) => (await loaded(seed, edits, COST)).smallerShare < 0.4,
  ],
};

/** The faults of limits with a key. */
const KEY_PLANTS: typeof PLANTS = {
  'a permit of a key may be one more': [
    [edit('*', 'max_running - redis.call', 'max_running + 1 - redis.call')],
    async (seed, edits) => (await killed(seed, edits, 1, GROUPS)).mostRunning > MOST_RUNNING,
  ],
  'the store of a key ends while its jobs run': [
    [edit(LEASES, 'keep_key(life)', 'keep_key(20)')],
    async (seed, edits) => (await killed(seed, edits, 1, GROUPS)).mostRunning > MOST_RUNNING,
  ],
  'a job that goes back for want of a permit is in no line': [
    [edit('attemptRelease', 'return await_permit(claim)', "return 'released'")],
    async (seed, edits) => (await killed(seed, edits, 1, GROUPS)).open > 0,
  ],
};

it.each(someOf([1, 2, 3, 4], 4))('is kept for each key, while processes are killed: seed %d', async (seed) => {
  expect(await killed(seed, [], 1, GROUPS)).toEqual({ mostRunning: MOST_RUNNING, open: 0, permits: 0 });
});

it.each(someOf(Object.entries(KEY_PLANTS), 3))('finds that %s', async (_, [edits, isFound]) => {
  expect(await isFound(1, edits)).toBe(true);
});

it.each(someOf([1, 2, 3, 4, 5, 6], 6))(
  'is kept, and loses no permit, while processes are killed: seed %d',
  async (seed) => {
    expect(await killed(seed)).toEqual({ mostRunning: MOST_RUNNING, open: 0, permits: 0 });
  },
);

it.each(someOf([1, 2, 3, 4], 4))('is used under load, by both queues alike: seed %d', async (seed) => {
  const { served, mostInPeriod, smallerShare, leases } = await loaded(seed);
  expect(served).toBeGreaterThanOrEqual(0.9);
  expect(mostInPeriod).toBeLessThanOrEqual(RATE.limit + RATE.burst);
  expect(smallerShare).toBeGreaterThan(0.4);
  // With two workers of two queues, which wait and do not ask again and again.
  expect(leases).toBeLessThan(8);
});

it.each(someOf([1, 2], 2))('is used by a queue whose jobs cost more, beside another: seed %d', async (seed) => {
  const { served, mostInPeriod, smallerShare } = await loaded(seed, [], COST);
  expect(served).toBeGreaterThanOrEqual(0.9);
  expect(mostInPeriod).toBeLessThanOrEqual(RATE.limit + RATE.burst);
  expect(smallerShare).toBeGreaterThan(0.4);
});

it.each(someOf([1, 2, 3, 4], 4))(
  'is used by jobs with costs of their own, beside others: seed %d',
  async (seed) => {
    const { served, mostInPeriod, smallerShare, leases } = await loaded(seed, [], DRAWN);
    expect(served).toBeGreaterThanOrEqual(0.9);
    expect(mostInPeriod).toBeLessThanOrEqual(RATE.limit + RATE.burst);
    expect(smallerShare).toBeGreaterThan(0.4);
    expect(leases).toBeLessThan(8);
  },
);

it.each(someOf([1, 2, 3], 3))(
  'loses no permit of jobs with costs of their own, at kills: seed %d',
  async (seed) => {
    expect(await killed(seed, [], DRAWN)).toMatchObject({ open: 0, permits: 0, mostRunning: MOST_RUNNING });
  },
);

it.each(someOf(Object.entries(PLANTS), 4))('finds that %s', async (_, [edits, isFound]) => {
  expect(await isFound(1, edits)).toBe(true);
});
