// The checker finds each planted breach of the promises of limits, groups and batches.
import { expect, it } from '@jest/globals';
import { cleanRun, completed, verdictOf, type Run } from './planted/clean-run.js';

const FLOW = 5;

/**
 * Adds two batches of three members and a follow-up, claimed with these fences. Returns the violations that the checker
 * finds.
 */
function violations(fences: readonly number[], spoil: (run: Run) => void = () => undefined): string[] {
  const run = cleanRun();
  const count = fences.length;
  run.files.flow = [
    ['process', FLOW, 'flow-producer'],
    ['enqueue', 0, count],
    ['enqueued', 0, count],
    ['process', 6, 'flow-worker'],
    ['time', 2_000],
    ...fences.flatMap((fence, number) => completed(FLOW, number, fence)),
  ];
  run.snapshot.totals.enqueued! += count;
  run.snapshot.totals.completed! += count;
  spoil(run);
  return verdictOf(run).violations;
}

it('finds nothing where members come before their follow-up, and groups keep their order', () => {
  expect(violations([101, 102, 103, 104, 105, 106, 107, 108])).toEqual([]);
  expect(violations([103, 102, 101, 105, 104, 106, 107, 108])).toEqual([]);
});

it('finds a follow-up that is claimed before a member has ended', () => {
  expect(violations([101, 102, 104, 103, 105, 106, 107, 108])).toEqual([
    'batch: the follow-up 5:3 was claimed before 5:2 had ended',
  ]);
});

it('finds a group that leaves its order', () => {
  expect(violations([106, 102, 103, 107, 105, 101, 108, 109])).toEqual([
    'I8: job 5:5 of group-0 was claimed before 5:0 had ended',
  ]);
});

it('finds a follow-up that never came, and one that ran twice', () => {
  const never = violations([101, 102, 103, 104], ({ files, snapshot }) => {
    files.flow = files.flow!.filter((entry) => entry[1] !== FLOW || entry[2] !== 3);
    snapshot.totals.completed!--;
  });
  expect(never).toContain('I1: job 5:3 is lost: acknowledged, started 0 times, and nowhere');
  const twice = violations([101, 102, 103, 104], ({ files, snapshot }) => {
    files.flow!.push(...completed(FLOW, 3, 109));
    snapshot.totals.completed!++;
    snapshot.totals.enqueued!++;
  });
  expect(twice).toContain('I2: job 5:3 was completed 2 times');
});
