// Runs the test files of a mutant. A test that fails without it too, as on a busy machine, notices nothing.
import type { Failure } from './test-process.js';

/** What a failed test does without the mutant. Earlier mutants may have left something behind in its process. */
export type Repeated = 'passes' | 'passes in a new process' | 'fails';

/**
 * Returns what notices a mutant, such as a limit. A test file notices it if it fails with it twice, and passes without it.
 * Test files run in their order. None begins after `ms`.
 */
export async function firstNoticing(
  files: readonly string[],
  ms: number,
  run: (files: readonly string[], ms: number) => Promise<Failure | undefined>,
  repeat: (file: string) => Promise<Repeated>,
): Promise<Failure | undefined> {
  const until = performance.now() + ms;
  for (let left = files; left.length > 0 && performance.now() < until;) {
    const failure = await run(left, until - performance.now());
    if (failure === undefined || !left.includes(failure.by)) return failure;
    const repeated = await repeat(failure.by);
    // It must fail once more, because on a busy machine a test fails by chance too.
    if (repeated === 'passes' && (await run([failure.by], until - performance.now()))) return failure;
    left = left.slice(left.indexOf(failure.by) + (repeated === 'passes in a new process' ? 0 : 1));
  }
  return undefined;
}
