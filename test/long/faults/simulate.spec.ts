// A thousand simulated fleets, each by its own seed: long ones, and short ones with different starts. Long fleets find what
// short ones do not.
import { describe, expect, it } from '@jest/globals';
import { plant } from '../../../tools/simulate/plants/plant.js';
import { find, LONGEST_DRAW_MS, plantsOf } from '../../../tools/simulate/plants/soonest.js';
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

it.each(plantsOf('long'))(
  'a long fleet finds a planted fault: %s',
  async (name, planted) => {
    expect((await find(name, planted)).seed).toBeGreaterThan(0);
  },
  LONGEST_DRAW_MS,
);

it.each([4, 8])('a fleet finds each job in turn, whichever workers die, seed %d', async (seed) => {
  const { violations, kills, freezes } = await new Simulation(seed, 5_000, plant('nothing', 'turns')).run();
  expect(violations).toEqual([]);
  expect(kills + freezes).toBeGreaterThan(2);
});
