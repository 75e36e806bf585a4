import { EnqueueError, type EnqueueItem } from '../errors/enqueue-errors.js';
import type { EnqueueReply, EncodedJob } from '../store/enqueue-call.js';

/**
 * Returns the outcomes of the jobs of a call, which may take several steps.
 *
 * @throws EnqueueError with all jobs of the call in order and their outcomes, for a repeat with the same ids. It is
 *   `not-sent` only if nothing of the call was written. An error that fails all steps alike and is no EnqueueError is
 *   thrown unchanged.
 */
export function bulkReplies(
  queue: string,
  jobs: readonly EncodedJob[],
  outcomes: readonly PromiseSettledResult<EnqueueReply>[],
): EnqueueReply[] {
  const failures = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
  const [first] = failures;
  if (first === undefined) {
    return outcomes.map((each) => (each as PromiseFulfilledResult<EnqueueReply>).value);
  }
  const nothingWritten =
    failures.length === jobs.length &&
    failures.every((each) => !(each instanceof EnqueueError && each.outcome === 'unknown'));
  if (nothingWritten && !(first instanceof EnqueueError)) {
    throw first;
  }
  const ids = jobs.map(({ id }) => id);
  const items = outcomes.map((each, i) => itemOf(jobs[i]!, each));
  const cause = first instanceof EnqueueError ? (first.cause ?? first) : first;
  const written = items.filter(({ outcome }) => outcome !== 'not-sent' && outcome !== 'unknown').length;
  const part = written > 0 ? `${written} of ${jobs.length} jobs are there, the others not or unknown: ` : '';
  const reason = part + (first instanceof EnqueueError ? first.reason : first.message);
  throw new EnqueueError(nothingWritten ? 'not-sent' : 'unknown', queue, ids, reason, { cause, items });
}

function itemOf(job: EncodedJob, result: PromiseSettledResult<EnqueueReply>): EnqueueItem {
  if (result.status === 'fulfilled') {
    const { id, outcome, full } = result.value;
    return { id, outcome: full ? 'not-sent' : outcome };
  }
  const failure: unknown = result.reason;
  return { id: job.id, outcome: failure instanceof EnqueueError ? failure.outcome : 'not-sent' };
}
