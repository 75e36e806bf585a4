// What the charts of a queue draw.
import { expect, it } from '@jest/globals';
import { isolated } from '../../src/dashboard/ui/charts/series.js';

it.each<[(number | null)[], number[]]>([
  [
    [null, 181, null, null, 4, 5, null, 9],
    [1, 7],
  ],
  [[3], [0]],
  [[1, 2, 3], []],
  [[], []],
])('of %j the values without a neighbour are points', (values, places) => {
  expect(isolated(values)).toEqual(places);
});
