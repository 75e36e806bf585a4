// Fleets by virtual time: seeds find nothing, each planted fault is found, and a seed comes again exactly.
import { afterAll, describe, expect, it } from '@jest/globals';
import { isUnstarted } from '#memory/verbs/attempt/unstarted.js';
import { PARTS } from './parts.js';
import type { Plant } from './plants/plant.js';
import { plants } from './plants/plants.js';
import { DRAWN_STEPS, finds, readSoonest } from './plants/soonest.js';
import { Simulation } from './simulation.js';

const SEEDS = Number(process.env.SIMULATE_SEEDS ?? 5);
const STEPS = 600;

/** Short fleets with different starts; test/long/faults/simulate.spec.ts runs a thousand. */
const SHORT_SEEDS = 10;
const SHORT_STEPS = 50;

/** Seeds that run twice. */
const REPLAYED = [3, 4, 7];

/** The number of seeds, of this many steps each at least. One of them must find a planted fault whose named seed does not. */
const PLANT_SEEDS = 12;
const PLANT_STEPS = 1_500;

const soonest = readSoonest();

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

  it('claims jobs of groups without limits ahead', async () => {
    const ahead = new Set<string>();
    const watch: Plant = {
      breaks: 'nothing',
      part: 'groups',
      after: (_, queues) =>
        queues.forEach(({ claims, jobs }) =>
          claims.members().forEach((id) => {
            const job = jobs.get(id);
            void (job?.group !== undefined && isUnstarted(job) && job.crashes === undefined && ahead.add(id));
          }),
        ),
    };
    const { violations } = await new Simulation(3, 3 * STEPS, watch).run();
    expect(violations).toEqual([]);
    expect(ahead.size).toBeGreaterThan(5);
  });

  it.each([2, 5])('finds each job in turn, whichever workers die, seed %d', async (seed) => {
    const { violations, kills, freezes } = await new Simulation(seed, 5_000, {
      breaks: 'nothing',
      part: 'turns',
    }).run();
    expect(violations).toEqual([]);
    expect(kills + freezes).toBeGreaterThan(2);
  });

  describe('finds each planted fault', () => {
    const notBySeed: string[] = [];

    it.each(Object.entries(plants))('%s', async (name, plant) => {
      const named = soonest[name];
      if (named && (await finds(plant, named))) {
        return;
      }
      notBySeed.push(name);
      const steps = DRAWN_STEPS.find((each) => each >= Math.max(PLANT_STEPS, named?.steps ?? 0))!;
      let isFound = false;
      for (let seed = 1; seed <= PLANT_SEEDS && !isFound; seed++) {
        isFound = await finds(plant, { seed, steps });
      }
      expect(isFound).toBe(true);
    });

    it('names a seed for each', () => {
      expect(Object.keys(soonest)).toEqual(Object.keys(plants));
      expect(Math.max(...Object.values(soonest).map(({ steps }) => steps))).toBeLessThanOrEqual(
        DRAWN_STEPS.at(-1)!,
      );
    });

    // No failure: each change of the store or the worker changes what many seeds draw. The others only take longer.
    afterAll(() => {
      if (notBySeed.length > 0) {
        const list = notBySeed.join('\n  ');
        console.warn(`Not found by the named seed; npm run simulate -- --draw names others:\n  ${list}`);
      }
    });
  });
});
