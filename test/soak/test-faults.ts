// npm run test:faults
// Every kind of fault, on one server, under Sentinel and in a Cluster, within five minutes, from seeds that never change.
import { rmSync } from 'node:fs';
import { passes, reportOf } from './report.js';
import { kindsMissing, run, type RunOptions } from './run.js';

const SEED = 1;

const parts: Pick<RunOptions, 'minutes' | 'topology' | 'persistence'>[] = [
  { topology: 'single', minutes: 2.2, persistence: 'aof' },
  { topology: 'single', minutes: 0, persistence: 'memory' },
  { topology: 'sentinel', minutes: 0, persistence: 'aof' },
  { topology: 'cluster', minutes: 0, persistence: 'aof' },
];
process.once('SIGINT', () => process.exit(130));

const began = performance.now();
let held = true;
for (const part of parts) held = (await one(part)) && held;
console.log(`\n${held ? 'HELD' : 'FAILED'} in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
process.exit(held ? 0 : 1);

async function one(part: (typeof parts)[number]): Promise<boolean> {
  const options: RunOptions = {
    ...part,
    seed: SEED,
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
