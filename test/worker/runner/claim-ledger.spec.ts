// The slots that claims in flight reserve. A slot that is counted twice, or never freed, would leave a worker idle.
import { expect, it } from '@jest/globals';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { ClaimBudget, ClaimLedger, type ClaimStream } from '#worker/runner/claims.js';

function newLedger() {
  let changes = 0;
  const ledger = new ClaimLedger(new VirtualClock(), new ClaimBudget(), () => changes++);
  const reserve = (count: number, atOnce: number, asked: { stream?: ClaimStream; askedAtMs?: number } = {}) =>
    ledger.reserve({ worker: 'w', stream: 'trip', count, atOnce, askedAtMs: 5, ...asked });
  const slots = () => [ledger.slots, ledger.inFlight, ledger.atOnce];
  return { ledger, reserve, slots, changes: () => changes };
}

it('reserves the slots of each claim until it ends', () => {
  const { ledger, reserve, slots, changes } = newLedger();
  const first = reserve(5, 3);
  const second = reserve(2, 2, { stream: 'wait' });
  expect(slots()).toEqual([7, 7, 5]);
  ledger.end(first);
  expect(slots()).toEqual([2, 2, 2]);
  ledger.end(second);
  expect([...slots(), changes()]).toEqual([0, 0, 0, 4]);
});

it('lends the slots of a claim whose reply is late, until its jobs come', () => {
  const { ledger, reserve, slots, changes } = newLedger();
  const late = reserve(5, 3);
  reserve(2, 1);
  ledger.lend(late);
  expect(slots()).toEqual([2, 7, 1]);
  ledger.end(late);
  expect([...slots(), changes()]).toEqual([2, 2, 1, 4]);
});

it.each([
  [4, [4, 4, 3]],
  [2, [2, 2, 2]],
  [0, [0, 0, 0]],
])('frees the slots of a claim that got permits for %d jobs alone', (count, left) => {
  const { ledger, reserve, slots, changes } = newLedger();
  const smaller = ledger.shrink(reserve(5, 3), count);
  expect(slots()).toEqual(left);
  expect(ledger.askedBy(5)).toEqual([smaller]);
  ledger.end(smaller);
  expect([...slots(), changes()]).toEqual([0, 0, 0, 3]);
  expect(ledger.askedBy(5)).toEqual([]);
});

it('knows the claims that were asked for by a time, one of each stream, until they end', () => {
  const { ledger, reserve } = newLedger();
  const trip = reserve(1, 1, { askedAtMs: 5 });
  const wait = reserve(1, 1, { askedAtMs: 6, stream: 'wait' });
  expect([4, 5, 6].map((atMs) => ledger.askedBy(atMs))).toEqual([[], [trip], [trip, wait]]);
  const next = reserve(1, 1, { askedAtMs: 7 });
  ledger.end(trip);
  expect(ledger.askedBy(7)).toEqual([next, wait]);
  ledger.end(wait);
  expect(ledger.askedBy(7)).toEqual([next]);
});
