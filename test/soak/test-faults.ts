// npm run test:faults
// Every kind of fault that one server and its clients can have, within five minutes, from seeds that never change.
import { rmSync } from 'node:fs';
import { passes, reportOf } from './report.js';
import { kindsMissing, run, type Outcome, type RunOptions } from './run.js';

const MINUTES = 2.8;
const SEED = 1;

const common = { seed: SEED, redisUrl: undefined, jobs: 0, say: (line: string) => console.log(line) };
process.once('SIGINT', () => process.exit(130));

const began = performance.now();
const faults = await one({ ...common, minutes: MINUTES, persistence: 'aof' });
const missing = kindsMissing(faults, true);
const forgetful = await one({ ...common, minutes: 0, persistence: 'memory' });
const held = [faults, forgetful].every((outcome) => passes(outcome, false)) && missing.length === 0;
if (missing.length > 0) console.log(`not done: ${missing.join(', ')}`);
console.log(`\n${held ? 'HELD' : 'FAILED'} in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
process.exit(held ? 0 : 1);

async function one(options: RunOptions): Promise<Outcome> {
  const outcome = await run(options);
  reportOf(outcome, false).forEach((line) => console.log(line));
  if (passes(outcome, false)) rmSync(outcome.folder, { recursive: true });
  return outcome;
}
