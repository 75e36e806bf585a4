// Runs fast-check with a fixed seed: the same cases in each run, so that no run depends on luck. PROPERTY_SEED draws
// others.
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? 1) });

/**
 * Returns the seed and the time of a fuzz that runs for long, and prints how to run it again. PROPERTY_SEED names the seed,
 * and FUZZ_SECONDS the time.
 *
 * @param file its spec
 */
export function longFuzz(file: string): { seed: number; seconds: number } {
  const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 2_147_483_647);
  const seconds = Number(process.env.FUZZ_SECONDS ?? 20);
  const again = `PROPERTY_SEED=${seed} FUZZ_SECONDS=${seconds} npm run test:system -- test/long/fuzz/${file}.spec.ts`;
  process.stdout.write(`fuzz of ${file} for ${seconds} s, again: ${again}\n`);
  return { seed, seconds };
}

export default fc;
