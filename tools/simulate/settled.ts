import type { VirtualClock } from '#testing/time/virtual-clock.js';

/** Moves the clock on until a promise is settled. */
export async function settled<Value>(clock: VirtualClock, promise: Promise<Value>): Promise<Value> {
  const state = { isSettled: false };
  const outcome = promise.finally(() => (state.isSettled = true));
  outcome.catch(() => undefined);
  while (!state.isSettled) await clock.advance(10);
  return outcome;
}
