import { expect, it } from '@jest/globals';
import { FetchLiveness } from '#worker/fetch/fetch-loop.js';

function makeLiveness() {
  const clock = { nowMs: 0 };
  const liveness = new FetchLiveness(() => clock.nowMs);
  return { clock, liveness };
}

it('counts from the last reply', () => {
  const { clock, liveness } = makeLiveness();
  expect(liveness.sinceMs).toBeUndefined();
  liveness.answered();
  clock.nowMs = 900;
  expect(liveness.sinceMs).toBe(900);
});

it('counts from the end of the time of a long wait that is open', () => {
  const { clock, liveness } = makeLiveness();
  liveness.answered();
  const ended = liveness.waitsFor(10_000);
  clock.nowMs = 9_999;
  expect(liveness.sinceMs).toBe(0);
  clock.nowMs = 12_000;
  expect(liveness.sinceMs).toBe(2_000);
  ended();
  expect(liveness.sinceMs).toBe(12_000);
  liveness.answered();
  expect(liveness.sinceMs).toBe(0);
});

it('counts from the last reply if a long wait ended early', () => {
  const { clock, liveness } = makeLiveness();
  const ended = liveness.waitsFor(10_000);
  clock.nowMs = 1_000;
  ended();
  liveness.answered();
  clock.nowMs = 4_000;
  expect(liveness.sinceMs).toBe(3_000);
});

it('is unknown before the first reply, also in a long wait', () => {
  const { liveness } = makeLiveness();
  liveness.waitsFor(10_000);
  expect(liveness.sinceMs).toBeUndefined();
});
