// What a runner declares of the limits that its queue shares, and what it does with permits that come late.
import { expect, it } from '@jest/globals';
import type { StoreCalls } from '#queue/store/store-calls.js';
import { Permits } from '#worker/runner/permits.js';

const calls = { sharedLimits: { declare: () => 'declare', lease: () => 'lease' } } as unknown as StoreCalls;
const lease = { granted: 0, waitMs: 1_000, why: 'slots', version: '1', toWake: [], cost: 1 };

it('declares the values of its app once, and again after an error', () => {
  const configured = { partner: { maxRunning: 2 } };
  const clock = { monotonic: () => 0 };
  const of = { queue: 'mail', limits: [{ limit: 'partner', cost: 1 }], configured, calls, worker: 'w' };
  const options = { ...of, visibilityMs: 30_000, clock, warn: () => undefined };
  const permits = new Permits(options, () => undefined);
  const refused = { ok: false, error: new Error('ERR refused') } as const;
  const leased = { ok: true, reply: lease } as const;
  expect(permits.lease('a', 1)).toEqual(['declare', 'lease']);
  permits.take('a', 1, [refused, leased]);
  expect(permits.lease('b', 1)).toEqual(['declare', 'lease']);
  permits.take('b', 1, [{ ok: true, reply: true }, leased]);
  expect(permits.lease('c', 1)).toEqual(['lease']);
});

const declare = ({ values }: { values: object }) => values;

it('notes its queue again once a day, and leaves the values to the app that has started last', () => {
  const clock = { nowMs: 0, monotonic: () => clock.nowMs };
  const noted = { sharedLimits: { ...calls.sharedLimits, declare } } as unknown as StoreCalls;
  const of = { queue: 'mail', limits: [{ limit: 'partner', cost: 1 }], configured: { partner: { maxRunning: 2 } } };
  const options = { ...of, calls: noted, worker: 'w', visibilityMs: 30_000, clock, warn: () => undefined };
  const permits = new Permits(options, () => undefined);
  expect(permits.lease('a', 1)).toEqual([{ maxRunning: 2 }, 'lease']);
  clock.nowMs += 86_399_999;
  expect(permits.lease('b', 1)).toEqual(['lease']);
  clock.nowMs += 1;
  expect(permits.lease('c', 1)).toEqual([{}, 'lease']);
});

const ENDS_MS = 36_000; // visibilityMs, and six seconds

const giveBack = ({ permits }: { permits: readonly object[] }) => permits;

/** Makes the permits of a runner by a clock that the test moves. */
function clockedPermits() {
  const clock = { nowMs: 0, monotonic: () => clock.nowMs };
  const given = { sharedLimits: { ...calls.sharedLimits, giveBack } } as unknown as StoreCalls;
  const limits = [{ limit: 'partner', cost: 1 }];
  const of = { queue: 'mail', limits, configured: {}, calls: given, worker: 'w', visibilityMs: 30_000 };
  return { clock, permits: new Permits({ ...of, clock, warn: () => undefined }, () => undefined) };
}

const two = [
  { ok: true, reply: true },
  { ok: true, reply: { ...lease, granted: 2, why: '' } },
] as const;
const unused = (permit: number) => ({ id: `a\t${permit}`, refund: 1, version: '1' });
const job = { token: 'a' };

it.each([
  [ENDS_MS - 1, 2, []],
  [ENDS_MS, 0, [[unused(1), unused(2)]]],
])('claims with permits whose reply took %d ms: %d of them', (ms, granted, given) => {
  const { clock, permits } = clockedPermits();
  permits.lease('a', 2);
  clock.nowMs += ms;
  expect(permits.take('a', 2, two).granted).toBe(granted);
  expect(permits.takeCalls()).toEqual(given);
});

it('starts no job whose claim was answered when its permit may have ended', () => {
  const { clock, permits } = clockedPermits();
  permits.lease('a', 2);
  permits.take('a', 2, two);
  clock.nowMs += ENDS_MS - 1;
  expect(permits.begin(job)).toBe(true);
  clock.nowMs += 1;
  expect(permits.begin(job)).toBe(false);
  permits.claimEnded('a');
  permits.end(job, true);
  permits.end(job, true);
  expect(permits.takeCalls()).toEqual([[unused(1), unused(2)]]);
});

/** Makes the permits of a queue whose jobs have costs of their own, and leases some at a price. */
function costlyPermits(granted: number, cost: number, burst?: number) {
  const extend = giveBack;
  const given = { sharedLimits: { ...calls.sharedLimits, giveBack, extend, lease: (asked: object) => asked } };
  const limits = [{ limit: 'partner', cost: 1, most: 9 }];
  const of = { queue: 'mail', limits, configured: {}, calls: given as unknown as StoreCalls, worker: 'w' };
  const clock = { monotonic: () => 0 };
  const permits = new Permits({ ...of, visibilityMs: 30_000, clock, warn: () => undefined }, () => undefined);
  permits.lease('a', granted);
  permits.take('a', granted, [
    two[0],
    { ok: true, reply: { ...lease, granted, why: '', cost, ...(burst !== undefined && { burst }) } },
  ]);
  return permits;
}

const jobOf = (partner: number) => ({ token: 'a', options: { limitCosts: { partner } } });
const lastLease = (permits: Permits) => permits.lease('b', 1).at(-1);

it('lets a claim take what its permits have paid, and gives back the rest with a permit that no job has', () => {
  const permits = costlyPermits(3, 4);
  expect(permits.unitsOf('a')).toEqual([['partner', 1, 12]]);
  // A claim that found none of these jobs is not repeated at once.
  expect(permits.hasPaid('a', { jobs: [], short: [12] })).toBe(true);
  expect(permits.hasPaid('a', { jobs: [], short: [13] })).toBe(false);
  expect(permits.hasPaid('a', { jobs: [jobOf(1)] as never, short: [12] })).toBe(false);
  permits.begin(jobOf(5));
  permits.claimEnded('a');
  expect(permits.takeCalls()).toEqual([
    [
      { id: 'a\t1', refund: 7, version: '1' },
      { id: 'a\t2', refund: 0, version: '1' },
    ].map((each) => expect.objectContaining(each)),
  ]);
  permits.end(jobOf(5), true);
  expect(permits.takeCalls()).toEqual([[expect.objectContaining({ id: 'a\t3', refund: 5 })]]);
});

it('gives units back while all its jobs run, and the permit by its other number later', () => {
  const permits = costlyPermits(1, 4);
  permits.begin(jobOf(3));
  permits.claimEnded('a');
  expect(permits.takeCalls()).toEqual([[{ id: 'a\t1', refund: 1, version: '1', renamed: 'a\t-1' }]]);
  permits.end(jobOf(3), false);
  expect(permits.takeCalls()).toEqual([[{ id: 'a\t-1', refund: undefined, version: '1', renamed: undefined }]]);
});

it('extends the permit by both numbers, because the change may be late or lost', () => {
  const permits = costlyPermits(1, 4);
  permits.begin(jobOf(3));
  permits.claimEnded('a');
  expect(permits.extensions()).toEqual([['a\t-1', 'a\t1']]);
});

it('gives back no permit whose units its jobs took, where a burst is below the price', () => {
  const permits = costlyPermits(3, 2, 1);
  permits.begin(jobOf(3));
  permits.claimEnded('a');
  const given = permits.takeCalls().flat() as unknown as { refund: number }[];
  expect(given.map(({ refund }) => refund)).toEqual([2, 0]); // four of six units are charged for three
});

it('gives units back with the permit of a job that ended before the reply was read', () => {
  const permits = costlyPermits(1, 4);
  permits.begin(jobOf(3));
  permits.end(jobOf(3), false);
  expect(permits.hasToSend).toBe(false);
  permits.claimEnded('a');
  expect(permits.takeCalls()).toEqual([[expect.objectContaining({ id: 'a\t1', refund: 1, renamed: undefined })]]);
});

it('asks for what the next job costs, once it knows', () => {
  const permits = costlyPermits(1, 1);
  permits.learn({ jobs: [], short: [7] });
  expect(lastLease(permits)).toMatchObject({ cost: 7, least: 7 });
  permits.learn({ jobs: [jobOf(7), jobOf(2)] as never });
  expect(lastLease(permits)).toMatchObject({ cost: 5, least: 0 });
  expect(lastLease(permits)).toMatchObject({ cost: 5, least: 1 });
  permits.learn({ jobs: [jobOf(2)] as never, short: [4] });
  expect(lastLease(permits)).toMatchObject({ cost: 2, least: 4 });
  expect(permits.costs).toEqual([{ limit: 'partner', cost: 9 }]);
  permits.learn({ jobs: [], short: [30] });
  expect(permits.costs).toEqual([{ limit: 'partner', cost: 30 }]);
});
