// Fleets by virtual time: seeds find nothing, each planted fault is found, and a seed comes again exactly.
import { describe, expect, it } from '@jest/globals';
import { PARTS } from './parts.js';
import { plants } from './plants/plants.js';
import { World } from './world.js';

const SEEDS = Number(process.env.SIMULATE_SEEDS ?? 5);
const STEPS = 1_500;

/** Seeds that run twice. */
const REPLAYED = [3, 4, 7];

/** The number of seeds, of this many steps each, that must find a planted fault. */
const PLANT_SEEDS = 12;
const PLANT_STEPS = 1_500;

describe('a simulated fleet', () => {
  it.each(Array.from({ length: SEEDS }, (_, i) => i + 1))('keeps the invariants, seed %d', async (seed) => {
    const { violations, jobs, calls } = await new World(seed, STEPS).run();
    expect(violations).toEqual([]);
    expect(jobs).toBeGreaterThan(20);
    expect(calls.attemptClaim).toBeGreaterThan(20);
  });

  it.each(REPLAYED)('runs the same by the same seed, and otherwise by another, seed %d', async (seed) => {
    const one = await new World(seed, STEPS).run();
    expect(await new World(seed, STEPS).run()).toEqual(one);
    expect((await new World(seed + 1, STEPS).run()).digest).not.toBe(one.digest);
  });

  it('exercises each part in one of the repeated seeds', () => {
    const parts = REPLAYED.flatMap((seed) => [...new World(seed, STEPS).parts]);
    expect(new Set(parts)).toEqual(new Set(PARTS));
  });

  it.each(Object.entries(plants))('finds that %s', async (_name, plant) => {
    // The same fault may break more than one invariant, and a seed ends at the first.
    const found: string[] = [];
    for (let seed = 1; seed <= PLANT_SEEDS && !found.includes(plant.breaks); seed++) {
      const { violations } = await new World(seed, PLANT_STEPS, plant).run();
      found.push(...violations.map((violation) => violation.split(':')[0]!));
    }
    expect(found).toContain(plant.breaks);
  });
});
