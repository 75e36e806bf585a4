// Fleets by virtual time: seeds find nothing, and a seed comes again exactly.
import { describe, expect, it } from '@jest/globals';
import { casesOf, someOf } from '../../test/support/run/samples.js';
import { PARTS } from './parts.js';
import { plant } from './plants/plant.js';
import { markOf } from './server/queue-reads.js';
import { Simulation } from './simulation.js';

const STEPS = casesOf(600, 200);

/** The jobs that a run has at least. A seed with few tells little. */
const FEWEST_JOBS = casesOf(20, 10);

/** Short fleets with different starts; test/long/faults/simulate.spec.ts runs a thousand. */
const SHORT_SEEDS = casesOf(10, 3);
const SHORT_STEPS = 50;

/** Seeds that run twice. Together they exercise each part. */
const REPLAYED = [3, 4, 7];

const outcomes = new Map<number, ReturnType<Simulation['run']>>();

/** Returns the outcome of a seed, which runs once. */
function outcomeOf(seed: number) {
  const outcome = outcomes.get(seed) ?? new Simulation(seed, STEPS).run();
  outcomes.set(seed, outcome);
  return outcome;
}

describe('a simulated fleet', () => {
  it.each(REPLAYED)('keeps the invariants, seed %d', async (seed) => {
    const { violations, jobs, calls } = await outcomeOf(seed);
    expect(violations).toEqual([]);
    expect(jobs).toBeGreaterThan(FEWEST_JOBS);
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

  it.each(someOf(REPLAYED, 3))(
    'runs the same by the same seed, and otherwise by another, seed %d',
    async (seed) => {
      const one = await outcomeOf(seed);
      expect(await new Simulation(seed, STEPS).run()).toEqual(one);
      const others = REPLAYED.filter((each) => each !== seed);
      for (const other of others) expect((await outcomeOf(other)).digest).not.toBe(one.digest);
    },
  );

  it('exercises each part in one of the repeated seeds', () => {
    const parts = REPLAYED.flatMap((seed) => [...new Simulation(seed, STEPS).parts]);
    expect(new Set(parts)).toEqual(new Set(PARTS));
  });

  it('claims jobs of groups without limits ahead', async () => {
    const ahead = new Set<string>();
    const simulation = new Simulation(3, casesOf(1_800, 450), plant('nothing', 'groups'));
    const { server, watched } = simulation;
    const run = watched.run.bind(watched);
    watched.run = (call, task) => {
      const reply = run(call, task);
      for (const queue of server.queues) {
        for (const id of queue.claims.members()) {
          const job = queue.job(id);
          const isAhead = job?.group !== undefined && markOf(job) === '1' && job.crashes === undefined;
          if (isAhead) ahead.add(id);
        }
      }
      return reply;
    };
    const { violations } = await simulation.run();
    expect(violations).toEqual([]);
    expect(ahead.size).toBeGreaterThan(5);
  });
});
