// A queue whose minutes a test closes, by a clock of its own.
import type { StoreCalls } from '#queue/store/store-calls.js';
import { connectClocked } from '../../support/redis/clocked-redis.js';
import { queueOn, type TestQueue } from '../../support/queue/queue-state.js';

export const MINUTE = 60_000;
const GAP = 180_000;
/** The beginning of some minute. */
export const START = Math.floor(Date.now() / MINUTE) * MINUTE;

export function clocked() {
  const clock = { nowMs: START + 1_000 };
  return { clock, q: queueOn(connectClocked(clock)) };
}

export const close = (q: TestQueue, reading: Partial<Parameters<StoreCalls['history']['closeMinute']>[0]> = {}) =>
  q.run(
    q.scripts.history.closeMinute({
      pending: 0,
      processing: 0,
      oldestPendingAgeMs: 0,
      version: '',
      gapMs: GAP,
      ...reading,
    }),
  );

export const read = (q: TestQueue) => q.run(q.scripts.history.read({ backMs: 72 * 60 * MINUTE, most: 1_000 }));
