// What a runner keeps of a limit with a key while its master gives no reply.
import { expect, it } from '@jest/globals';
import type { KeyRules } from '#queue/model/shared-limit.js';
import type { StoreCalls } from '#queue/store/store-calls.js';
import { KeyPermits } from '#worker/runner/key-permits.js';

const calls = { sharedLimits: { declare: () => 'declare', noteKeys: () => 'note' } } as unknown as StoreCalls;
const silent = { ok: false, error: new Error('no reply') } as const;
const reply = (heldMs?: number) => ({ ok: true, reply: { values: undefined, heldMs } satisfies KeyRules }) as const;

/** Makes the permits of a runner with two limits, by a clock that the test moves. */
function clockedKeys() {
  const clock = { nowMs: 0, monotonic: () => clock.nowMs, randomId: () => 'token', setTimeout };
  const limits = ['crm', 'erp'].map((limit) => ({ limit, cost: 1, key: 'group' as const }));
  const of = { queue: 'mail', limits, configured: {}, calls, worker: 'w', visibilityMs: 30_000 };
  const keys = new KeyPermits({ ...of, clock, warn: () => undefined }, () => undefined);
  /** Asks the limits, and takes what they reply. */
  const learn = (...outcomes: Parameters<KeyPermits['learn']>[0]) => {
    keys.notes();
    keys.learn(outcomes);
    return keys.heldMs;
  };
  return { clock, keys, learn };
}

it('keeps a pause of a limit that gives no reply, and asks again each second', () => {
  const { clock, keys, learn } = clockedKeys();
  expect(learn(reply(), reply())).toBe(0);
  expect(learn(reply(Infinity), reply())).toBe(1_000);
  clock.nowMs += 60_000;
  expect(learn(silent, reply())).toBe(1_000);
  expect(learn(silent, silent)).toBe(1_000);
  expect(keys.asksFirst).toBe(true);
  expect(learn(reply(), reply())).toBe(0);
  expect(keys.asksFirst).toBe(false);
});

it('ends a rest of a limit that gives no reply by its time', () => {
  const { clock, learn } = clockedKeys();
  expect(learn(reply(), reply(3_000))).toBe(1_000);
  clock.nowMs += 2_500;
  expect(learn(silent, silent)).toBe(500);
  clock.nowMs += 500;
  expect(learn(silent, silent)).toBe(0);
});
