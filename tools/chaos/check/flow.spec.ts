// The checker finds each planted breach of the promises of limits, groups and batches.
import { expect, it } from '@jest/globals';
import type { Entry } from '../histories/history.js';
import { cleanRun, completed, verdictOf, type Run } from './planted/clean-run.js';

const FLOW = 5;

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

/**
 * Adds two batches, claimed with these fences. Each has three members, one that the first of them adds, and a follow-up.
 * Returns the violations that the checker finds.
 */
function violations(fences: readonly number[], spoil: (run: Run) => void = () => undefined): string[] {
  const run = cleanRun();
  const count = fences.length;
  run.files.flow = [
    ['process', FLOW, 'flow-producer'],
    ['enqueue', 0, count],
    ...range(count / 5).flatMap((batch): Entry[] => [
      ['enqueued', 5 * batch, 3],
      ['enqueued', 5 * batch + 4, 1],
    ]),
    ['process', 6, 'flow-worker'],
    ['time', 2_000],
    ...range(count / 5).map((batch): Entry => ['grown', FLOW, 5 * batch + 3]),
    ...fences.flatMap((fence, number) => completed(FLOW, number, fence)),
  ];
  run.snapshot.totals.enqueued! += count;
  run.snapshot.totals.completed! += count;
  spoil(run);
  return verdictOf(run).violations;
}

/** Adds jobs to a queue with shards. 0 and 16 have one group, and the odd ones have none. Returns the violations. */
function ofShards(fences: Record<number, number>): string[] {
  const run = cleanRun();
  run.files.spread = [
    ['process', FLOW, 'spread-producer'],
    ['enqueue', 0, 17],
    ['enqueued', 0, 17],
    ['process', 6, 'spread-worker'],
    ['time', 2_000],
    ...range(17).flatMap((number) => completed(FLOW, number, fences[number] ?? 100 + number)),
  ];
  run.snapshot.totals.enqueued! += 17;
  run.snapshot.totals.completed! += 17;
  return verdictOf(run).violations;
}

it('finds nothing where members come before their follow-up, and groups keep their order', () => {
  expect(violations([101, 102, 103, 104, 105, 106, 107, 108, 109, 110])).toEqual([]);
  expect(violations([103, 102, 101, 104, 106, 105, 107, 108, 109, 110])).toEqual([]);
});

it('finds a follow-up that is claimed before a member has ended, also one that another member has added', () => {
  expect(violations([101, 102, 105, 103, 104, 106, 107, 108, 109, 110])).toEqual([
    'batch: the follow-up 5:4 was claimed before 5:2 had ended',
  ]);
  expect(violations([101, 102, 103, 105, 104, 106, 107, 108, 109, 110])).toEqual([
    'batch: the follow-up 5:4 was claimed before 5:3 had ended',
  ]);
});

it('finds an added member that is lost', () => {
  const found = violations([101, 102, 103, 104, 105], ({ files, snapshot }) => {
    files.flow = files.flow!.filter((entry) => entry[1] !== FLOW || entry[2] !== 3 || entry[0] === 'grown');
    snapshot.totals.completed!--;
  });
  expect(found).toContain('I1: job 5:3 is lost: acknowledged, started 0 times, and nowhere');
});

it('finds a group that leaves its order', () => {
  expect(violations([101, 107, 103, 104, 108, 102, 109, 110, 111, 112])).toEqual([
    'I8: job 5:5 of group-1 was claimed before 5:1 had ended',
  ]);
});

it('finds a group of a queue with shards that leaves its order', () => {
  expect(ofShards({ 1: 300 })).toEqual([]);
  expect(ofShards({ 0: 300 })).toEqual(['I8: job 5:16 of sensor-0 was claimed before 5:0 had ended']);
});

it('finds a group with jobs in two shards', () => {
  const found = violations([101, 102, 103, 104, 105], ({ files, snapshot }) => {
    files.spread = [['process', 9, 'spread-producer']];
    for (const [n, id] of [
      [0, 'a~1'],
      [16, 'b~1'],
      [2, 'c~0'],
      [18, 'd~2'],
    ] as const) {
      // prettier-ignore
      snapshot.jobs.push({ ...snapshot.jobs[0]!, id, work: { p: 9, n, kind: 'plain' } });
    }
  });
  expect(found.filter((each) => each.startsWith('spread'))).toEqual([
    'spread: sensor-1 has jobs in the shards 0, 2',
  ]);
});

it('finds a step whose result changes, unless the server may have lost it', () => {
  const STEP = /job 5:0 got the result 101 of its step, and 7/;
  const steps: Entry[] = [
    ['step', FLOW, 0, 101],
    ['step', FLOW, 0, 101],
    ['step', FLOW, 0, 7],
  ];
  const found = violations([101, 102, 103, 104, 105], ({ files }) => void files.flow!.push(...steps));
  expect(found).toEqual([expect.stringMatching(STEP)]);
  const same = violations([101, 102, 103, 104, 105], ({ files }) => void files.flow!.push(...steps.slice(0, 2)));
  expect(same).toEqual([]);
});

it('finds a follow-up that never came, and one that ran twice', () => {
  const never = violations([101, 102, 103, 104, 105], ({ files, snapshot }) => {
    files.flow = files.flow!.filter((entry) => entry[1] !== FLOW || entry[2] !== 4);
    snapshot.totals.completed!--;
  });
  expect(never).toContain('I1: job 5:4 is lost: acknowledged, started 0 times, and nowhere');
  const twice = violations([101, 102, 103, 104, 105], ({ files, snapshot }) => {
    files.flow!.push(...completed(FLOW, 4, 109));
    snapshot.totals.completed!++;
    snapshot.totals.enqueued!++;
  });
  expect(twice).toContain('I2: job 5:4 was completed 2 times');
});
