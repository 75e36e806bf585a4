// Fleets by virtual time: seeds find nothing, each planted fault is found, and a seed comes again exactly.
import { describe, expect, it } from '@jest/globals';
import { plants } from './plants.js';
import { World } from './world.js';

const SEEDS = Number(process.env.SIMULATE_SEEDS ?? 5);
const STEPS = 1_500;

/** The number of seeds, of this many steps each, that must find a planted fault. */
const PLANT_SEEDS = 12;
const PLANT_STEPS = 1_500;

describe('a simulated fleet', () => {
  it.each(Array.from({ length: SEEDS }, (_, i) => i + 1))('keeps the invariants, seed %d', async (seed) => {
    const { violations, jobs, calls } = await new World(seed).run(STEPS);
    expect(violations).toEqual([]);
    expect(jobs).toBeGreaterThan(20);
    expect(calls.attemptClaim).toBeGreaterThan(20);
  });

  it('runs the same by the same seed, and otherwise by another', async () => {
    const one = await new World(5).run(STEPS);
    expect(await new World(5).run(STEPS)).toEqual(one);
    expect((await new World(6).run(STEPS)).digest).not.toBe(one.digest);
  });

  it.each(Object.entries(plants))('finds that %s', async (name, { breaks }) => {
    // The same fault may break more than one invariant, and a seed ends at the first.
    const found: string[] = [];
    for (let seed = 1; seed <= PLANT_SEEDS && !found.includes(breaks); seed++) {
      const { violations } = await new World(seed, name).run(PLANT_STEPS);
      found.push(...violations.map((violation) => violation.split(':')[0]!));
    }
    expect(found).toContain(breaks);
  });
});
