import { encodeJob } from '../../queue/enqueue/encode-job.js';
import type { EnqueueOptions } from '../../queue/enqueue/enqueue-options.js';
import { encodeTypedJob } from '../../queue/enqueue/encode-typed-job.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { EnqueueError, type EnqueueItem } from '../../queue/errors/enqueue-errors.js';
import type { JobHandle } from '../../queue/results/job-handle.js';
import type { JobQueue } from '../../queue/job-queue.js';

/** A job of a call that adds jobs of several names or queues. */
interface MixedJob {
  target: JobQueue;
  definition: JobDefinition | undefined;
  payload: unknown;
  options: EnqueueOptions | undefined;
}

/** Jobs of one queue and one definition, with their places in the call. */
interface Group extends Pick<MixedJob, 'target' | 'definition'> {
  places: number[];
}

/**
 * Adds jobs of several names and queues. All are checked before the first is sent, then each queue gets its own.
 *
 * @throws InvalidOptionError, InvalidPayloadError: nothing was written. EnqueueError, whose `items` have the outcome of
 * each
 */
export async function enqueueMixed(jobs: readonly MixedJob[]): Promise<JobHandle[]> {
  await checkAll(jobs);
  const groups = groupsOf(jobs);
  const outcomes = await Promise.allSettled(groups.map((group) => send(group, jobs)));
  const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
  if (failed.length > 0) {
    throw failureOf(jobs, groups, outcomes, failed);
  }
  const handles: JobHandle[] = [];
  outcomes.forEach((outcome, g) => {
    const { value } = outcome as PromiseFulfilledResult<JobHandle[]>;
    groups[g]!.places.forEach((place, i) => (handles[place] = value[i]!));
  });
  return handles;
}

async function checkAll(jobs: readonly MixedJob[]): Promise<void> {
  const checks = jobs.map(async ({ target, definition, payload, options }, i) => {
    const subject = `enqueueMany[${i}]`;
    return definition
      ? encodeTypedJob(target, definition, payload, options, subject)
      : encodeJob(target, payload, options, subject);
  });
  await Promise.all(checks);
}

function groupsOf(jobs: readonly MixedJob[]): Group[] {
  const groups: Group[] = [];
  jobs.forEach(({ target, definition }, place) => {
    const group = groups.find((each) => each.target === target && each.definition === definition);
    if (group) {
      group.places.push(place);
    } else {
      groups.push({ target, definition, places: [place] });
    }
  });
  return groups;
}

function send({ target, definition, places }: Group, jobs: readonly MixedJob[]): Promise<JobHandle[]> {
  const own = places.map((place) => ({ ...jobs[place]!.options, payload: jobs[place]!.payload }));
  return target.enqueueAll(definition, own);
}

/** Returns the error of one queue unchanged, if it wrote nothing and nothing else was written. */
function failureOf(
  jobs: readonly MixedJob[],
  groups: readonly Group[],
  outcomes: readonly PromiseSettledResult<JobHandle[]>[],
  failed: readonly Error[],
): Error {
  const [first] = failed;
  const nothingWritten =
    failed.length === groups.length &&
    failed.every((error) => !(error instanceof EnqueueError && error.outcome === 'unknown'));
  if (nothingWritten && (groups.length === 1 || !(first instanceof EnqueueError))) {
    return first!;
  }
  const items: EnqueueItem[] = [];
  outcomes.forEach((outcome, g) => {
    groups[g]!.places.forEach((place, i) => (items[place] = itemOf(outcome, i, jobs[place]!)));
  });
  const queues = [...new Set(groups.map(({ target }) => target.name))].join(', ');
  const reason = first instanceof EnqueueError ? first.reason : first!.message;
  const ids = items.map(({ id }) => id);
  return new EnqueueError(nothingWritten ? 'not-sent' : 'unknown', queues, ids, reason, { cause: first, items });
}

function itemOf(outcome: PromiseSettledResult<JobHandle[]>, i: number, { options }: MixedJob): EnqueueItem {
  if (outcome.status === 'fulfilled') {
    const { id, outcome: answer } = outcome.value[i]!;
    return { id, outcome: answer };
  }
  const error: unknown = outcome.reason;
  return error instanceof EnqueueError ? error.items[i]! : { id: options?.id ?? '', outcome: 'not-sent' };
}
