// Checks I4: the work of a call is bounded, whatever the number of jobs.
import type { sizesOf } from './queue-reads.js';

/** The most commands and items of replies of a call that moves no job. A slice of maintenance looks at hundreds of jobs. */
const MOST_WORK = { attempt: 500, sweep: 5_000, other: 2_000 };

/** The most of each job that it moves. */
const MOST_WORK_OF_JOB = 100;

/** The most due jobs that one claim makes ready: a slice. */
const MOST_DUE = 100;

/**
 * The most jobs that one claim takes. A worker with a bulk handler starts 32 at once: 8 calls of 4 jobs. The rest is for
 * jobs ahead, which held-check.ts bounds.
 */
const MOST_TAKEN = 100;

type Sizes = ReturnType<typeof sizesOf>;

/** Returns what is wrong with the work of a call. @param work the commands and items @param after the places of each queue */
export function overWorked(
  script: string,
  work: number,
  before: readonly Pick<Sizes, 'scheduled' | 'claims'>[],
  after: readonly Sizes[],
): string[] {
  const isClaim = script === 'attemptClaim';
  const due = Math.max(0, ...after.map(({ scheduled }, i) => (before[i]?.scheduled ?? 0) - scheduled));
  const taken = after.map(({ claims }, i) => claims - (before[i]?.claims ?? 0));
  const most = Math.max(0, ...taken);
  const jobs = due + taken.reduce((sum, each) => sum + Math.abs(each), 0);
  const isTooMuch = work > mostOf(script) + jobs * MOST_WORK_OF_JOB;
  return [
    ...(isTooMuch ? [`I4: one call of ${script} did ${work} steps for ${jobs} jobs`] : []),
    ...(isClaim && due > MOST_DUE ? [`I4: one claim made ${due} jobs ready`] : []),
    ...(isClaim && most > MOST_TAKEN ? [`I4: one claim took ${most} jobs`] : []),
  ];
}

function mostOf(script: string): number {
  return script.startsWith('attempt')
    ? MOST_WORK.attempt
    : script.startsWith('sweep')
      ? MOST_WORK.sweep
      : MOST_WORK.other;
}
