import { describe, expect, it } from '@jest/globals';
import fc from '../../support/queue/properties.js';
import {
  backoffDelay as delayOf,
  storedBackoffSchema,
  type Backoff,
  type StoredBackoff,
} from '#queue/model/backoff.js';
import { InvalidOptionError } from '#queue/errors/errors.js';

const JOB = { id: '1', name: 'email', queue: 'email', payload: null, maxAttempts: 10 };
const backoffDelay = (backoff: Backoff | undefined, failed: number, error: unknown, drawn: number) =>
  delayOf(backoff, failed, error, drawn, JOB);

const YEAR_MS = 31_536_000_000;
const ms = fc.oneof(fc.integer({ min: 0, max: YEAR_MS }), fc.double({ min: 0, max: YEAR_MS, noNaN: true }));
const attempt = fc.integer({ min: 1, max: 1_000 });
const random = fc.double({ min: 0, max: 1, noNaN: true });
const rule = fc
  .record(
    {
      type: fc.constantFrom('fixed' as const, 'exponential' as const),
      delayMs: ms,
      maxDelayMs: ms,
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    },
    { requiredKeys: ['type', 'delayMs'] },
  )
  .filter(({ delayMs, maxDelayMs = delayMs }) => maxDelayMs >= delayMs);

/** Returns the delay of the rule without jitter. */
function whole({ type, delayMs, maxDelayMs }: Exclude<StoredBackoff, number>, failed: number): number {
  const rising = type === 'fixed' ? delayMs : delayMs * 2 ** (failed - 1);
  return maxDelayMs === undefined ? Math.max(delayMs, Math.min(3_600_000, rising)) : Math.min(maxDelayMs, rising);
}

describe('a backoff', () => {
  it('is whole ms from 0 to its cap, less at most the part that jitter draws', () => {
    fc.assert(
      fc.property(rule, attempt, random, (backoff, failed, drawn) => {
        const delay = backoffDelay(backoff, failed, undefined, drawn);
        const longest = whole(backoff, failed);
        const { jitter = backoff.type === 'exponential' ? 0.2 : 0 } = backoff;
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeLessThanOrEqual(Math.round(longest));
        expect(delay).toBeGreaterThanOrEqual(Math.round(longest * (1 - jitter)) - 1);
      }),
      { numRuns: 500 },
    );
  });

  it('never shrinks from attempt to attempt where nothing is drawn, and doubles until its cap', () => {
    fc.assert(
      fc.property(rule, attempt, (backoff, failed) => {
        const without = { ...backoff, jitter: 0 };
        const [first, second] = [failed, failed + 1].map((each) => backoffDelay(without, each, undefined, 0.5));
        expect(second).toBeGreaterThanOrEqual(first!);
        const capped = whole(without, failed + 1) === (without.maxDelayMs ?? Math.max(3_600_000, without.delayMs));
        if (without.type === 'exponential' && !capped) {
          expect(Math.abs(second! - 2 * first!)).toBeLessThanOrEqual(1);
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each(['fixed', 'exponential'] as const)('of more than an hour (%s) is that long', (type) => {
    expect(backoffDelay({ type, delayMs: 7_200_000, jitter: 0 }, 1, undefined, 0.5)).toBe(7_200_000);
  });

  it('is shorter the more is drawn', () => {
    fc.assert(
      fc.property(rule, attempt, random, random, (backoff, failed, one, other) => {
        const less = backoffDelay(backoff, failed, undefined, Math.min(one, other));
        expect(backoffDelay(backoff, failed, undefined, Math.max(one, other))).toBeLessThanOrEqual(less);
      }),
    );
  });

  it('that is a number, or none, is that long at every attempt', () => {
    fc.assert(
      fc.property(ms, attempt, random, (delay, failed, drawn) => {
        expect(backoffDelay(delay, failed, undefined, drawn)).toBe(Math.round(delay));
        expect(backoffDelay(undefined, failed, undefined, drawn)).toBe(0);
      }),
    );
  });

  it('by a function is its result for attempt and error, refused where that is no duration', () => {
    fc.assert(
      fc.property(fc.double(), attempt, (delay, failed) => {
        const asked = () =>
          backoffDelay((each, error) => (each === failed && error === 'e' ? delay : 0), failed, 'e', 0.5);
        if (delay >= 0 && delay <= YEAR_MS) {
          expect(asked()).toBe(Math.round(delay));
        } else {
          expect(asked).toThrow(InvalidOptionError);
        }
      }),
    );
  });

  it('is taken by its schema exactly where it means something', () => {
    fc.assert(fc.property(rule, (backoff) => expect(storedBackoffSchema.safeParse(backoff).success).toBe(true)));
    const nonsense = [-1, NaN, Infinity, YEAR_MS + 1, '5', null, [], {}, { type: 'linear', delayMs: 1 }];
    const faults = [
      {},
      { delayMs: -1 },
      { delayMs: 1, jitter: 1.1 },
      { delayMs: 1, maxDelay: 5 },
      { delayMs: 5, maxDelayMs: 1 },
    ];
    for (const each of [...nonsense, ...faults.map((fault) => ({ type: 'fixed', ...fault }))]) {
      expect([each, storedBackoffSchema.safeParse(each).success]).toEqual([each, false]);
    }
  });
});
