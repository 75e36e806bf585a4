import { EnqueueError } from './errors.js';
import type { EnqueueAnswer, NewJob } from './hot-path-scripts.js';

/**
 * The answers to the jobs of one call, which may travel in several steps.
 *
 * @throws EnqueueError that names all jobs of the call in their order, so that it can be repeated with them. It is
 *   `not-sent` only when nothing of the call was written. What fails all steps alike and is no EnqueueError is thrown as it is.
 */
export async function answersOfAll(
  queue: string,
  jobs: readonly NewJob[],
  answers: readonly Promise<EnqueueAnswer>[],
): Promise<EnqueueAnswer[]> {
  const outcomes = await Promise.allSettled(answers);
  const failures = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
  const [first] = failures;
  if (first === undefined) {
    return outcomes.map((each) => (each as PromiseFulfilledResult<EnqueueAnswer>).value);
  }
  const nothingWritten =
    failures.length === jobs.length &&
    failures.every((each) => !(each instanceof EnqueueError && each.outcome === 'unknown'));
  if (nothingWritten && !(first instanceof EnqueueError)) {
    throw first;
  }
  const ids = jobs.map(({ id }) => id);
  const cause = first instanceof EnqueueError ? first.cause : first;
  throw new EnqueueError(nothingWritten ? 'not-sent' : 'unknown', queue, ids, (cause as Error).message, { cause });
}
