// What a runner declares of the limits that its queue shares, and what it does with permits that come late.
import { expect, it } from '@jest/globals';
import type { StoreCalls } from '#queue/store/store-calls.js';
import { Permits } from '#worker/runner/permits.js';

const calls = { sharedLimits: { declare: () => 'declare', lease: () => 'lease' } } as unknown as StoreCalls;
const lease = { granted: 0, waitMs: 1_000, why: 'slots', version: '1', toWake: [] };

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
const unused = (permit: number) => ({ id: `a\t${permit}`, isUnused: true, version: '1' });

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
  expect(permits.begin('a')).toBe(true);
  clock.nowMs += 1;
  expect(permits.begin('a')).toBe(false);
  permits.claimEnded('a');
  permits.end('a', true);
  permits.end('a', true);
  expect(permits.takeCalls()).toEqual([[unused(1), unused(2)]]);
});
