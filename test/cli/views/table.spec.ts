// What a narrow terminal shows: fewer columns, and sentences that go on in the next line.
import { describe, expect, it } from '@jest/globals';
import { fitted, screenful } from '#cli/output.js';

const HEAD = ['queue', 'waiting', 'in/s', 'run p95', 'failed'];
const ROW = ['a-queue-with-a-long-name', 12, 3, '340 ms', '0.0 %'];
const LAYOUT = { right: HEAD.slice(1), whole: ['queue'], dropped: ['in/s'], droppedLast: ['run p95'] };

it.each<[number, RegExp]>([
  [80, /^queue +waiting +in\/s +run p95 +failed\na-queue-with-a-long-name /],
  [50, /^queue +waiting +run p95 +failed\n/],
  [40, /^queue +waiting +run p95 +failed\na-qu\S*…name /],
  [30, /^queue +waiting +failed\na-q\S*…name /],
])('a table of %i columns drops figures, then cuts names in their middle, then drops more', (width, shown) => {
  const { value } = fitted(HEAD, [ROW], width, LAYOUT);
  expect(value).toMatch(shown);
  expect(Math.max(...value.split('\n').map((line) => line.length))).toBeLessThanOrEqual(width);
});

describe('a screen', () => {
  it('of 30 columns breaks a sentence between its words, below its beginning', () => {
    const told =
      '\u001B[31m✕\u001B[0m mail  stuck: 1 waiting for 13 s, no worker\n    next:  start a worker with its handler';
    expect(screenful(told, 30, 10)).toEqual([
      '\u001B[31m✕\u001B[0m mail  stuck: 1 waiting for',
      '  13 s, no worker',
      '    next:  start a worker with',
      '           its handler',
    ]);
  });

  it('cuts a word that is longer than a line, and says how many lines it has no room for', () => {
    expect(screenful(`${'x'.repeat(40)}\nb\nc\nd`, 20, 3)).toEqual([`${'x'.repeat(19)}…`, 'b', '… 2 more lines']);
  });
});
