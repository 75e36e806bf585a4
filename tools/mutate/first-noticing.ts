// Runs the test files of a mutant. A test that fails without it too, as on a busy machine, notices nothing.
import type { Failure } from './test-process.js';

/** What a failed test does without the mutant. Earlier mutants may have left something behind in its process. */
export type Repeated = 'passes' | 'passes in a new process' | 'fails';

/** Returns what notices a mutant: the first test file that fails with it and passes without it, or a limit. */
export async function firstNoticing(
  files: readonly string[],
  run: (files: readonly string[]) => Promise<Failure | undefined>,
  repeat: (file: string) => Promise<Repeated>,
): Promise<Failure | undefined> {
  for (let left = files; left.length > 0;) {
    const failure = await run(left);
    if (failure === undefined || !left.includes(failure.by)) return failure;
    const repeated = await repeat(failure.by);
    if (repeated === 'passes') return failure;
    if (repeated === 'fails') left = left.filter((file) => file !== failure.by);
  }
  return undefined;
}
