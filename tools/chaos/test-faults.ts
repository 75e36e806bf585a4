// npm run test:faults [-- --quick]
//
// Runs every kind of fault once, on one server, under Sentinel and in a Cluster, from kept seeds. With --quick it runs
// on one server only.
import { rmSync } from 'node:fs';
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
const parts = process.argv.includes('--quick') ? all.slice(0, 1) : all;
process.once('SIGINT', () => process.exit(130));

const began = performance.now();
let held = true;
for (const part of parts) held = (await one(part)) && held;
console.log(`\n${held ? 'HELD' : 'FAILED'} in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
if (held && parts === all && process.env.RECORD_RUNS) recordRuns((name) => name === 'npm run test:faults');
process.exit(held ? 0 : 1);

async function one(part: (typeof parts)[number]): Promise<boolean> {
  const options: RunOptions = {
    ...part,
    minutes: 0,
    seed: SEEDS[part.topology],
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
