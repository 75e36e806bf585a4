// Fleets by virtual time: seeds find nothing, each planted fault is found, and a seed comes again exactly.
import { describe, expect, it } from '@jest/globals';
import { PARTS } from './parts.js';
import { plants } from './plants/plants.js';
import { Simulation } from './simulation.js';

const SEEDS = Number(process.env.SIMULATE_SEEDS ?? 5);
const STEPS = 600;

/** Short fleets with different starts; test/long/faults/simulate.spec.ts runs a thousand. */
const SHORT_SEEDS = 10;
const SHORT_STEPS = 50;

/** Seeds that run twice. */
const REPLAYED = [3, 4, 7];

/** The number of seeds, of this many steps each, that must find a planted fault. */
const PLANT_SEEDS = 12;
const PLANT_STEPS = 1_500;

/** The seed that finds a fault soonest, where that is not the first one. Where the fleet has changed since, the others follow. */
const SOONEST: Readonly<Record<string, number>> = {
  'an acknowledged job is gone': 2,
  'a job is in two places': 3,
  'a sweep leaves the token': 2,
  'a sweep looks at all jobs': 11,
  'a job without its hash blocks': 15,
  'a limit is not kept': 2,
  'a job that is reclaimed goes to the back of its group': 15,
  'a claim takes jobs ahead without a bound': 9,
  'a batch forgets its members': 2,
  'two processes make one tick': 3,
  'a tick is left out': 5,
  'a replaced job keeps its payload': 4,
  'a batch takes a failure for a success': 6,
  'a batch goes on after a failure': 7,
  'an update is lost': 7,
  'a job starts before its new time': 5,
  'an entry gets no mark': 12,
  'a fence is not kept': 10,
  'a mark is made in a second call': 12,
  'a checkpoint is lost': 5,
  'a claim takes a job of a paused group': 14,
  'a claim of a clock that was ahead stays': 3,
  'a rate of a clock that was ahead stays': 3,
  'a due time of a clock that was ahead stays': 5,
};

const unknown = Object.keys(SOONEST).filter((name) => !(name in plants));
if (unknown.length > 0) throw new Error(`SOONEST: expected names of planted faults, found ${unknown.join(', ')}.`);

const outcomes = new Map<number, ReturnType<Simulation['run']>>();

/** Returns the outcome of a seed, which runs once. */
function outcomeOf(seed: number) {
  const outcome = outcomes.get(seed) ?? new Simulation(seed, STEPS).run();
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
      const { violations, kills, freezes, deploys } = await new Simulation(seed, SHORT_STEPS).run();
      expect({ seed, violations }).toEqual({ seed, violations: [] });
      if (kills + freezes + deploys > 0) withFaults++;
    }
    expect(withFaults).toBeGreaterThanOrEqual(0.9 * SHORT_SEEDS);
  }, 120_000);

  it.each(REPLAYED)('runs the same by the same seed, and otherwise by another, seed %d', async (seed) => {
    const one = await outcomeOf(seed);
    expect(await new Simulation(seed, STEPS).run()).toEqual(one);
    expect((await outcomeOf(seed + 1)).digest).not.toBe(one.digest);
  });

  it('exercises each part in one of the repeated seeds', () => {
    const parts = REPLAYED.flatMap((seed) => [...new Simulation(seed, STEPS).parts]);
    expect(new Set(parts)).toEqual(new Set(PARTS));
  });

  it.each(Object.entries(plants))('finds that %s', async (name, plant) => {
    const seeds = Array.from({ length: PLANT_SEEDS }, (_, i) => i + 1);
    const soonest = SOONEST[name] ?? 1;
    // The same fault may break more than one invariant, and a seed ends at the first.
    const found: string[] = [];
    for (const seed of [soonest, ...seeds.filter((each) => each !== soonest)]) {
      if (found.includes(plant.breaks)) break;
      const { violations } = await new Simulation(seed, PLANT_STEPS, plant).run();
      found.push(...violations.map((violation) => violation.split(':')[0]!));
    }
    expect(found).toContain(plant.breaks);
  });
});
