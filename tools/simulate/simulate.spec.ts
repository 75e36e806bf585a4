// Fleets by virtual time: seeds find nothing, each planted fault is found, and a seed comes again exactly.
import { describe, expect, it } from '@jest/globals';
import { isUnstarted } from '#memory/verbs/attempt/unstarted.js';
import { PARTS } from './parts.js';
import type { Plant } from './plants/plant.js';
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

/** The seed that finds a fault soonest, and its steps where fewer do. Where the fleet has changed since, the other seeds follow. */
const SOONEST: Readonly<Record<string, { seed: number; steps?: number }>> = {
  'an acknowledged job is gone': { seed: 7, steps: 60 },
  'a job is in two places': { seed: 4 },
  'a sweep leaves the token': { seed: 17, steps: 500 },
  'a repeated claim takes more': { seed: 17, steps: 200 },
  'a sweep looks at all jobs': { seed: 23, steps: 500 },
  'a sweep takes claims early': { seed: 39 },
  'an error costs no attempt': { seed: 1, steps: 60 },
  'a job without its hash blocks': { seed: 23, steps: 60 },
  'the newest job comes first': { seed: 4 },
  'a limit is not kept': { seed: 14 },
  'a job that is reclaimed goes to the back of its group': { seed: 51, steps: 300 },
  'a claim looks at all jobs': { seed: 6, steps: 200 },
  'a claim takes jobs ahead without a bound': { seed: 2, steps: 500 },
  'a batch forgets its members': { seed: 4 },
  'two processes make one tick': { seed: 4 },
  'a tick is left out': { seed: 9, steps: 500 },
  'a paused schedule ticks': { seed: 24, steps: 500 },
  'a unique key is forgotten': { seed: 7 },
  'the time of a unique key ends early': { seed: 2 },
  'an ended job keeps its unique key': { seed: 25 },
  'a replaced job keeps its payload': { seed: 35 },
  'a job does not wait for those before it': { seed: 22 },
  'a job waits for itself': { seed: 20, steps: 60 },
  'two jobs of a call swap their results': { seed: 14, steps: 60 },
  'a job is not run again': { seed: 13, steps: 60 },
  'a batch takes a failure for a success': { seed: 25, steps: 60 },
  'a batch goes on after a failure': { seed: 13 },
  'an update is lost': { seed: 25 },
  'a job starts before its new time': { seed: 15, steps: 500 },
  'an entry gets no mark': { seed: 27 },
  'a fence is not kept': { seed: 5 },
  'a mark is made in a second call': { seed: 27 },
  'a batch does not wait for a member of a member': { seed: 39 },
  'a checkpoint is lost': { seed: 9 },
  'a claim takes a job of a paused group': { seed: 30 },
  'an enqueue loses its metadata': { seed: 7 },
  'a claim of a clock that was ahead stays': { seed: 25, steps: 200 },
  'a rate of a clock that was ahead stays': { seed: 8, steps: 60 },
  'a due time of a clock that was ahead stays': { seed: 12, steps: 60 },
  'a worker becomes a waiter in a second call': { seed: 14 },
  'a wake ends at a dead waiter': { seed: 3 },
  'two processes have the right to maintain': { seed: 4, steps: 200 },
  'nobody takes the right of a dead process over': { seed: 10, steps: 500 },
  'a sweep sees no claim': { seed: 2 },
  'a follow-up stays in the outbox after its acknowledgement': { seed: 4, steps: 60 },
  'a follow-up leaves the outbox before its queue has it': { seed: 33, steps: 200 },
  'a retry forgets the steps': { seed: 7, steps: 60 },
  'a crash forgets the steps': { seed: 9 },
  'a claim takes a job of a limited group ahead': { seed: 4, steps: 500 },
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

  it.each(Object.entries(plants))('finds that %s', async (name, plant) => {
    const seeds = Array.from({ length: PLANT_SEEDS }, (_, i) => ({ seed: i + 1, steps: PLANT_STEPS }));
    // The same fault may break more than one invariant, and a seed ends at the first.
    const found: string[] = [];
    for (const { seed, steps = PLANT_STEPS } of [...(SOONEST[name] ? [SOONEST[name]] : []), ...seeds]) {
      if (found.includes(plant.breaks)) break;
      const { violations } = await new Simulation(seed, steps, plant).run();
      found.push(...violations.map((violation) => violation.split(':')[0]!));
    }
    expect(found).toContain(plant.breaks);
  });
});
