// The checker finds a shared limit that was exceeded.
import { expect, it } from '@jest/globals';
import type { Entry } from '../histories/history.js';
import { cleanRun, verdictOf } from './planted/clean-run.js';

type Time = [fromMs: number, toMs: number, key?: string];

/** Returns the violations of a run in which handlers of the queues that share a limit ran at these times. */
function violations(times: readonly Time[], more: Entry[] = []): string[] {
  const run = cleanRun();
  const two = times.length >> 1; // over two workers
  run.files.sharing = [['process', 7, 'shared-producer'], ...more];
  run.files['shared-1'] = [['process', 8, 'shared-worker'], ...ran(times.slice(0, two))];
  run.files['shared-2'] = [['process', 9, 'shared-worker'], ...ran(times.slice(two))];
  return verdictOf(run).violations;
}

const ran = (times: readonly Time[]) =>
  times.map(([from, to, key = 'bolt']): Entry => ['ran-shared', from, to, key]);

const FULL: Time[] = [
  [10, 20, 'acme'],
  [12, 30, 'acme'],
  [15, 40, ''],
];

it('finds nothing where the limit was reached, and a handler began as another ended', () => {
  expect(violations([...FULL, [20, 25], [25, 50]])).toEqual([]);
});

it('finds a handler too many, over all workers', () => {
  expect(violations([...FULL, [19, 22]])).toEqual([
    'shared limit: 4 jobs ran at once at 19 ms, and maxRunning is 3',
  ]);
});

it('finds a run that shows nothing', () => {
  expect(violations(FULL.slice(1))).toEqual([
    'shared limit: of 3 jobs 2 ran at once at most, so nothing was shown',
    'key of a limit: of 2 jobs 1 ran at once at most, so nothing was shown',
  ]);
});

it('finds a handler too many of a key, over all workers', () => {
  const [one, two] = FULL as [Time, Time];
  expect(violations([one, two, [15, 40, 'acme']])).toEqual([
    'key of a limit: 3 jobs ran at once at 15 ms, and maxRunning is 2',
  ]);
});

it('finds nothing after a server that lost its data, because it lost permits too', () => {
  expect(violations([...FULL, [19, 22]], [['forgotten', []]]).filter((each) => each.startsWith('shared'))).toEqual(
    [],
  );
});
