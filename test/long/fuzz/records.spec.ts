// The fuzz of what reads records for windows. FUZZ_SECONDS says for how long, and PROPERTY_SEED which.
import { it } from '@jest/globals';
import fc, { longFuzz } from '../../support/queue/properties.js';
import { readEverywhere, storedJob } from '../../security/record-fuzz.js';

const { seed, seconds } = longFuzz('records');
const RUNS = 2_000;

it(
  'shows a job of any make in every window, without what is hidden',
  () => {
    const end = Date.now() + seconds * 1_000;
    let rounds = 0;
    for (; Date.now() < end; rounds++) {
      fc.assert(fc.property(storedJob, readEverywhere), { numRuns: RUNS, seed: seed + rounds });
    }
    process.stdout.write(`records by the seed ${seed}: ${rounds * RUNS} jobs\n`);
  },
  (seconds + 120) * 1_000,
);
