// The bytes that the claims of a connection may bring, by the speed of its link.
import { expect, it } from '@jest/globals';
import { ClaimBudget } from '#worker/runner/claims.js';

const KIB = 1_024;

/** Returns the budget after each of some replies. */
function after(tookMs: number, isFull: boolean, count: number): number[] {
  const budget = new ClaimBudget();
  return Array.from({ length: count }, () => {
    budget.answered(tookMs, isFull);
    return budget.bytes / KIB;
  });
}

it('grows from 256 KiB to 4 MiB while full replies come quickly', () => {
  expect(new ClaimBudget().bytes).toBe(256 * KIB);
  expect(after(249, true, 5)).toEqual([512, 1_024, 2_048, 4_096, 4_096]);
});

it('shrinks to 16 KiB while replies are slow', () => {
  expect(after(2_001, true, 5)).toEqual([128, 64, 32, 16, 16]);
});

it.each([
  ['full, and neither quick nor slow', 250, true],
  ['full, and not yet slow', 2_000, true],
  ['quick, and not full', 1, false],
])('stays after a reply that is %s', (_, tookMs, isFull) => {
  expect(after(tookMs, isFull, 1)).toEqual([256]);
});

it('is half of what was asked for after a cut, once for all claims of a trip', () => {
  const budget = new ClaimBudget();
  const asked = budget.bytes;
  expect([budget.afterCut(asked), budget.afterCut(asked)]).toEqual([128 * KIB, 128 * KIB]);
  expect(budget.bytes).toBe(128 * KIB);
});
