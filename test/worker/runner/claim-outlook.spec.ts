import { expect, it } from '@jest/globals';
import { ClaimOutlook } from '#worker/runner/claim-outlook.js';
import type { ClaimReply } from '#queue/store/attempt-forms.js';

const NOTHING = { jobs: [], refused: [], isFull: false, awaitsSlots: false } as Partial<ClaimReply> as ClaimReply;

it('expects no job after a claim that found too few, until jobs may have come', () => {
  const outlook = new ClaimOutlook(() => {});
  outlook.claims();
  outlook.learn(NOTHING, 1);
  expect(outlook.mayHaveJobs).toBe(false);
  outlook.expectJobs();
  expect(outlook.mayHaveJobs).toBe(true);
});

it('claims again after a wake that overtook the reply of a claim', () => {
  const outlook = new ClaimOutlook(() => {});
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
