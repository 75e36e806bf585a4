import { expect, it } from '@jest/globals';
import {
  capitalised,
  count,
  duration,
  hostOf,
  namesOf,
  pace,
  percent,
  rate,
  relative,
  size,
} from '#inspect/words.js';

const NOW = 1_800_000_000_000;

it.each([
  [-3, '0 ms'],
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [2_140, '2.1 s'],
  [10_000, '10 s'],
  [59_400, '59 s'],
  [60_000, '1 min'],
  [3_600_000, '1 h'],
  [5_400_000, '1.5 h'],
  [86_400_000, '1 d'],
  [30 * 86_400_000, '30 d'],
])('says %d ms as "%s"', (ms, words) => {
  expect(duration(ms)).toBe(words);
});

it.each([
  [0, 'now'],
  [-999, 'now'],
  [999, 'now'],
  [-1_000, '1 s ago'],
  [1_000, 'in 1 s'],
  [-119_999, '1 min ago'],
  [120_000, 'in 2 min'],
  [-3_600_000, '1 h ago'],
  [86_400_000, 'in 1 d'],
])('says a time that is %d ms from now as "%s"', (distance, words) => {
  expect(relative(NOW + distance, NOW)).toBe(words);
});

it.each([
  [0, '0 bytes'],
  [1_023, '1,023 bytes'],
  [1_024, '1 KB'],
  [1_536, '1.5 KB'],
  [10 * 1_024, '10 KB'],
  [2 ** 20, '1 MB'],
  [2 ** 30, '1 GB'],
  [2_000 * 2 ** 30, '2,000 GB'],
])('says %d bytes as "%s"', (bytes, words) => {
  expect(size(bytes)).toBe(words);
});

it.each([
  [0, '0/s', '0'],
  [1 / 3_600, '1/h', '0.0'],
  [1 / 60, '1/min', '0.0'],
  [0.05, '3/min', '0.1'],
  [0.99, '59/min', '1.0'],
  [1, '1/s', '1.0'],
  [1.25, '1.3/s', '1.3'],
  [9.9, '9.9/s', '9.9'],
  [10, '10/s', '10'],
  [1_204.4, '1,204/s', '1,204'],
])('says %d jobs per second as "%s", and in a table as "%s"', (perSecond, words, figure) => {
  expect([rate(perSecond), pace(perSecond)]).toEqual([words, figure]);
});

it.each([
  [[], ''],
  [['a'], 'a'],
  [['a', 'a'], 'a'],
  [['a', 'b', 'a'], 'a and b'],
  [['a', 'b', 'c'], 'a, b and 1 more'],
  [['a', 'b', 'c', 'd'], 'a, b and 2 more'],
])('names jobs called %j: "%s"', (names, words) => {
  expect(namesOf(names.map((name) => ({ name })))).toBe(words);
});

it.each([
  ['web-1:42', { host: 'web-1', pid: 42 }],
  ['web-1:42:abc', { host: 'web-1', pid: 42 }],
  [':42', { host: ':42', pid: null }],
  ['web-1:4x', { host: 'web-1:4x', pid: null }],
  ['mine', { host: 'mine', pid: null }],
])('reads the host and the process in the id "%s" of a worker', (id, read) => {
  expect(hostOf(id)).toEqual(read);
});

it('sets thousands apart, rounds a share to one decimal, and begins a sentence with a capital', () => {
  expect([count(1_204), percent(0.0412), percent(1), capitalised('it waits'), capitalised('')]).toEqual([
    '1,204',
    '4.1 %',
    '100.0 %',
    'It waits',
    '',
  ]);
});
