import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { bucketOf, Histogram, LAST_BUCKET, valueOf } from '#queue/runtime/histogram.js';

const DAY_MS = 86_400_000;

it('a quantile is within 10 % of the fact, from 1 ms to 24 h', () => {
  const times = fc.array(
    fc.double({ min: 0, max: Math.log(DAY_MS), noNaN: true }).map((log) => Math.exp(log)),
    { minLength: 1, maxLength: 300 },
  );
  fc.assert(
    fc.property(times, fc.constantFrom(0.5, 0.95, 0.99, 1), (all, quantile) => {
      const histogram = new Histogram();
      all.forEach((ms) => histogram.add(bucketOf(ms)));
      const fact = all.toSorted((a, b) => a - b)[Math.max(1, Math.ceil(quantile * all.length)) - 1]!;
      expect(Math.abs(histogram.quantile(quantile)! / fact - 1)).toBeLessThan(0.1);
    }),
  );
});

it('a time below 1 ms is 0, one above a day is a day, and of none there is no quantile', () => {
  expect([0, 0.4, Number.NaN, -3].map(bucketOf)).toEqual([0, 0, 0, 0]);
  expect(valueOf(0)).toBe(0);
  expect(bucketOf(30 * DAY_MS)).toBe(LAST_BUCKET);
  expect(valueOf(LAST_BUCKET)).toBe(DAY_MS);
  expect(new Histogram().quantile(0.5)).toBeNull();
});

it('a histogram reads the text of Redis, and adds another one', () => {
  const histogram = Histogram.parse('3:2,10:1').merge(Histogram.parse('10:5'));
  expect(histogram.count).toBe(8);
  expect(histogram.quantile(0.25)).toBeCloseTo(valueOf(3));
  expect(histogram.quantile(0.99)).toBeCloseTo(valueOf(10));
  expect(Histogram.parse('').count).toBe(0);
});
