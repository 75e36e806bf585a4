import { describe, expect, it } from '@jest/globals';
import fc from '../../support/queue/properties.js';
import { checkRecurrence, nextTick } from '#queue/schedules/recurrence.js';
import { type Recurrence } from '#queue/model/schedule.js';

const DAY = 86_400_000;
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Asia/Kathmandu',
];

const number = (min: number, max: number) => fc.integer({ min, max }).map(String);
const field = (min: number, max: number) =>
  fc.oneof(
    fc.constant('*'),
    number(min, max),
    fc.integer({ min: 2, max: 9 }).map((every) => `*/${every}`),
    fc
      .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
      .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
  );

/** Days up to 28, so that each month has them. */
const cron = fc
  .tuple(fc.option(field(0, 59)), field(0, 59), field(0, 23), field(1, 28), field(1, 12), fc.constant('*'))
  .map(([second, ...rest]) => [...(second === null ? [] : [second]), ...rest].join(' '));

const recurrence: fc.Arbitrary<Recurrence> = fc.oneof(
  fc.record({ cron, timeZone: fc.constantFrom(...ZONES) }),
  fc.integer({ min: 100, max: 365 * DAY }).map((everyMs) => ({ everyMs })),
);
const instant = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2035, 0) });

describe('the next tick', () => {
  it('is strictly later, and the same from every moment before it: one slot has one tick', () => {
    fc.assert(
      fc.property(recurrence, instant, fc.double({ min: 0, max: 1, noNaN: true }), (each, after, part) => {
        const next = nextTick(each, after);
        expect(next).toBeGreaterThan(after);
        const between = Math.min(next - 1, after + Math.floor(part * (next - after)));
        expect(nextTick(each, between)).toBe(next);
        expect(nextTick(each, next)).toBeGreaterThan(next);
      }),
      { numRuns: 300 },
    );
  });

  it('of a cron expression is on a whole second, of the first one where it names none', () => {
    fc.assert(
      fc.property(cron, fc.constantFrom(...ZONES), instant, (expression, timeZone, after) => {
        const next = nextTick({ cron: expression, timeZone }, after);
        expect(next % (expression.split(' ').length === 6 ? 1_000 : 60_000)).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it('has the same defaults checked and stored', () => {
    fc.assert(
      fc.property(recurrence, instant, (each, after) => {
        const stored = JSON.parse(JSON.stringify(checkRecurrence('s', each))) as Recurrence;
        expect(nextTick(stored, after)).toBe(nextTick(each, after));
      }),
      { numRuns: 100 },
    );
  });
});
