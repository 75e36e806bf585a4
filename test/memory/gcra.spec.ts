// The rate of the store in memory, which counts in parts of milliseconds.
import { expect, it } from '@jest/globals';
import { boundArrival, paid } from '#memory/state/gcra.js';

const NOW = 1_893_456_072_452;

it('keeps the arrival of a rate that is spent whole, for a clock that has not moved back', () => {
  for (let limit = 1; limit <= 100; limit++) {
    const rate = { limit, periodMs: 1_000, burst: limit };
    let arrival = 0;
    for (let job = 0; job < limit; job++) {
      arrival = paid(rate, arrival, 1, NOW);
    }
    expect(boundArrival(rate, arrival, NOW)).toBe(arrival);
    expect(boundArrival(rate, arrival, NOW - 1)).toBeLessThan(arrival);
  }
});
