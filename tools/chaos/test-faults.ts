// npm run test:faults [-- --quick] [--seed S] [--rounds N]
//
// Runs every kind of fault once, on one server, under Sentinel and in a Cluster, from kept seeds. With --quick it runs
// on one server only. With --seed it runs from S instead, and --rounds N repeats it from S + 1 and so on.
import { rmSync } from 'node:fs';
import { argumentsOf } from '../../scripts/arguments.mjs';
import { recordRuns } from '../../scripts/release/last-runs.mjs';
import { SEEDS } from './kept-seeds.js';
import { passes, reportOf } from './run/report.js';
import { kindsMissing, run } from './run/run.js';
import type { RunOptions } from './run/run-options.js';

const all: Pick<RunOptions, 'topology' | 'persistence'>[] = [
  { topology: 'single', persistence: 'aof' },
  { topology: 'single', persistence: 'memory' },
  { topology: 'sentinel', persistence: 'aof' },
  { topology: 'cluster', persistence: 'aof' },
];
const { values } = argumentsOf('test:faults', {
  options: {
    quick: { type: 'boolean', about: 'on one server only' },
    seed: { type: 'string', about: 'runs from this seed, in place of the kept ones' },
    rounds: { type: 'string', default: '1', about: 'repeats it with the next seeds' },
  },
});
const rounds = Number(values.rounds);
const firstSeed = values.seed === undefined ? undefined : Number(values.seed);
if (
  values.seed === '' ||
  ![firstSeed ?? 0, rounds].every(Number.isSafeInteger) ||
  rounds < 1 ||
  (rounds > 1 && firstSeed === undefined)
) {
  console.error('expected --seed S, and with it perhaps --rounds N, from 1: both integers');
  process.exit(2);
}
const parts = values.quick ? all.slice(0, 1) : all;
process.once('SIGINT', () => process.exit(130));

const began = performance.now();
let held = true;
for (let round = 0; round < rounds; round += 1) {
  for (const part of parts) held = (await one(part, round)) && held;
}
console.log(`\n${held ? 'HELD' : 'FAILED'} in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
if (held && parts === all && firstSeed === undefined && process.env.RECORD_RUNS)
  recordRuns((name) => name === 'npm run test:faults');
process.exit(held ? 0 : 1);

async function one(part: (typeof parts)[number], round: number): Promise<boolean> {
  const options: RunOptions = {
    ...part,
    minutes: 0,
    seed: firstSeed === undefined ? SEEDS[part.topology] : firstSeed + round,
    redisUrl: undefined,
    jobs: 0,
    say: (line) => console.log(line),
  };
  const outcome = await run(options);
  reportOf(outcome, false).forEach((line) => console.log(line));
  const missing = part.persistence === 'aof' ? kindsMissing(outcome, part.topology, true) : [];
  if (missing.length > 0) console.log(`not done: ${missing.join(', ')}`);
  const passed = passes(outcome, false);
  if (passed) rmSync(outcome.folder, { recursive: true });
  return passed && missing.length === 0;
}
