// A thousand simulated fleets, each by its own seed: long ones, and short ones with different starts.
import { describe, expect, it } from '@jest/globals';
import { Simulation } from '../../../tools/simulate/simulation.js';

const SEEDS = 1_000;
const AT_ONCE = 100;
const SHARES = Array.from({ length: SEEDS / AT_ONCE }, (_, i) => [i * AT_ONCE + 1, (i + 1) * AT_ONCE] as const);

describe.each([50, 300])('fleets of %d steps', (steps) => {
  it.each(SHARES)(
    'seeds %d to %d keep the invariants',
    async (first, last) => {
      const broken: string[] = [];
      for (let seed = first; seed <= last; seed++) {
        const { violations } = await new Simulation(seed, steps).run();
        broken.push(...violations.map((violation) => `seed ${seed}: ${violation}`));
      }
      expect(broken).toEqual([]);
    },
    240_000,
  );
});
