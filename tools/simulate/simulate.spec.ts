// Fleets by virtual time: seeds find nothing, each planted fault is found, and a seed comes again exactly.
import { describe, expect, it } from '@jest/globals';
import { PARTS } from './parts.js';
import { plants } from './plants/plants.js';
import { World } from './world.js';

const SEEDS = Number(process.env.SIMULATE_SEEDS ?? 5);
const STEPS = 1_500;

/** Short fleets with different starts; test/long/faults/simulate.spec.ts runs a thousand. */
const SHORT_SEEDS = 150;
const SHORT_STEPS = 50;

/** Seeds that run twice. */
const REPLAYED = [3, 4, 7];

/** The number of seeds, of this many steps each, that must find a planted fault. */
const PLANT_SEEDS = 12;
const PLANT_STEPS = 1_500;

const outcomes = new Map<number, ReturnType<World['run']>>();

/** Returns the outcome of a seed, which runs once. */
function outcomeOf(seed: number) {
  const outcome = outcomes.get(seed) ?? new World(seed, STEPS).run();
  outcomes.set(seed, outcome);
  return outcome;
}

describe('a simulated fleet', () => {
  it.each(Array.from({ length: SEEDS }, (_, i) => i + 1))('keeps the invariants, seed %d', async (seed) => {
    const { violations, jobs, calls } = await outcomeOf(seed);
    expect(violations).toEqual([]);
    expect(jobs).toBeGreaterThan(20);
    expect(calls.attemptClaim).toBeGreaterThan(20);
  });

  it(`keeps the invariants, ${SHORT_SEEDS} seeds of ${SHORT_STEPS} steps`, async () => {
    let withFaults = 0;
    for (let seed = 1; seed <= SHORT_SEEDS; seed++) {
      const { violations, kills, freezes, deploys } = await new World(seed, SHORT_STEPS).run();
      expect({ seed, violations }).toEqual({ seed, violations: [] });
      if (kills + freezes + deploys > 0) withFaults++;
    }
    expect(withFaults).toBeGreaterThan(0.9 * SHORT_SEEDS);
  }, 120_000);

  it.each(REPLAYED)('runs the same by the same seed, and otherwise by another, seed %d', async (seed) => {
    const one = await outcomeOf(seed);
    expect(await new World(seed, STEPS).run()).toEqual(one);
    expect((await outcomeOf(seed + 1)).digest).not.toBe(one.digest);
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
