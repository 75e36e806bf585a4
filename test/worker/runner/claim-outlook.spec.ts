import { expect, it } from '@jest/globals';
import { ClaimOutlook } from '#worker/runner/claims.js';
import type { ClaimReply } from '#queue/store/attempt-forms.js';

const NOTHING = { jobs: [], refused: [], isFull: false, awaitsSlots: false } as Partial<ClaimReply> as ClaimReply;

it('expects no job after a claim that found too few, until jobs may have come', () => {
  const outlook = new ClaimOutlook(
    () => 0,
    () => {},
  );
  outlook.claims();
  outlook.learn(NOTHING, 1);
  expect(outlook.mayHaveJobs).toBe(false);
  outlook.expectJobs();
  expect(outlook.mayHaveJobs).toBe(true);
});

it('claims again after a wake that overtook the reply of a claim', () => {
  const outlook = new ClaimOutlook(
    () => 0,
    () => {},
  );
  outlook.claims();
  outlook.wake();
  outlook.learn(NOTHING, 1);
  expect(outlook.mayHaveJobs).toBe(true);
  expect(outlook.isWoken).toBe(true);
  outlook.claims();
  outlook.learn(NOTHING, 1);
  expect(outlook.mayHaveJobs).toBe(false);
  expect(outlook.isWoken).toBe(false);
});

it('looks less often while others take the jobs of a burst, and as before once it is over', () => {
  let nowMs = 0;
  const outlook = new ClaimOutlook(
    () => nowMs,
    () => {},
  );
  const learn = (nextDueInMs: number | undefined, { found = 0, afterMs = 20 } = {}) => {
    nowMs += afterMs;
    const jobs = Array.from({ length: found }, () => ({})) as unknown as ClaimReply['jobs'];
    outlook.learn({ ...NOTHING, jobs, nextDueInMs }, 10);
    return outlook.shortestDueMs;
  };
  expect(learn(1_000)).toBe(1);
  expect(learn(2)).toBe(1); // the first of the burst, for which all waited
  expect([learn(2), learn(2), learn(2)]).toEqual([2, 4, 8]);
  expect(learn(2, { afterMs: 1 })).toBe(8); // nothing was due
  expect(learn(2, { found: 1 })).toBeCloseTo(8 * Math.SQRT1_2);
  expect(learn(undefined)).toBe(1);
  for (let i = 0; i < 9; i++) learn(1);
  expect(outlook.shortestDueMs).toBe(20);
  expect(learn(1_000)).toBe(1);
});

it('counts the time since the reply, and tells a due job that it did not take from one that is due meanwhile', () => {
  let nowMs = 100;
  const outlook = new ClaimOutlook(
    () => nowMs,
    () => {},
  );
  outlook.learn({ ...NOTHING, nextDueInMs: 20 }, 1);
  nowMs += 4.5;
  expect(outlook.nextDueInMs).toBe(15);
  nowMs += 100;
  expect(outlook.nextDueInMs).toBe(1);
  outlook.learn({ ...NOTHING, nextDueInMs: 0 }, 1);
  nowMs += 10;
  expect(outlook.nextDueInMs).toBe(0);
});
