// A thousand simulated fleets, each by its own seed; `npm test` runs them for a sixth as long.
import { expect, it } from '@jest/globals';
import { World } from '../../../tools/simulate/world.js';

const SEEDS = 1_000;
const AT_ONCE = 100;
const STEPS = 300;

it.each(Array.from({ length: SEEDS / AT_ONCE }, (_, i) => [i * AT_ONCE + 1, (i + 1) * AT_ONCE]))(
  'seeds %d to %d keep the invariants',
  async (first, last) => {
    const broken: string[] = [];
    for (let seed = first; seed <= last; seed++) {
      const { violations } = await new World(seed, STEPS).run();
      broken.push(...violations.map((violation) => `seed ${seed}: ${violation}`));
    }
    expect(broken).toEqual([]);
  },
  240_000,
);
