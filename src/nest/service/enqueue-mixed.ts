import { encodeJob } from '../../queue/enqueue/encode-job.js';
import type { EnqueueOptions } from '../../queue/enqueue/enqueue-options.js';
import { encodeTypedJob } from '../../queue/enqueue/encode-typed-job.js';
import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { DurabilityTimeoutError } from '../../queue/enqueue/durable-batcher.js';
import { EnqueueError, QueueFullError, type EnqueueItem } from '../../queue/errors/enqueue-errors.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
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
 * @throws InvalidOptionError, InvalidPayloadError: nothing was written. EnqueueError or QueueFullError, whose `items` have
 *   the outcome of each
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

async function send({ target, definition, places }: Group, jobs: readonly MixedJob[]): Promise<JobHandle[]> {
  const own = places.map((place) => ({ ...jobs[place]!.options, payload: jobs[place]!.payload }));
  try {
    return await target.producer.many(definition, own);
  } catch (error) {
    throw error instanceof InvalidOptionError ? withPlaces(error, places) : error;
  }
}

/** Names the job by its place in the whole call. */
function withPlaces({ subject, expected, found, hint }: InvalidOptionError, places: readonly number[]): Error {
  const placed = subject.replace(/^enqueueMany\[(\d+)\]/, (_, i: string) => `enqueueMany[${places[Number(i)]}]`);
  return new InvalidOptionError(placed, expected, found, hint);
}

/** Returns the error of one queue unchanged, if all jobs were for that queue or nothing was written. */
function failureOf(
  jobs: readonly MixedJob[],
  groups: readonly Group[],
  outcomes: readonly PromiseSettledResult<JobHandle[]>[],
  failed: readonly Error[],
): Error {
  const [first] = failed;
  if (groups.length === 1) {
    return first!;
  }
  const items: EnqueueItem[] = [];
  outcomes.forEach((outcome, g) => {
    groups[g]!.places.forEach((place, i) => (items[place] = itemOf(outcome, i, jobs[place]!)));
  });
  if (failed.every((error) => error instanceof QueueFullError)) {
    const { queue, group, limit, unit } = failed[0] as QueueFullError;
    return new QueueFullError(queue, { group, limit, unit }, items);
  }
  const nothingWritten = items.every(({ outcome }) => outcome === 'not-sent');
  if (nothingWritten && !(first instanceof EnqueueError || first instanceof QueueFullError)) {
    return first!;
  }
  const queues = [...new Set(groups.map(({ target }) => target.name))].join(', ');
  const reason = first instanceof EnqueueError ? first.reason : first!.message;
  const ids = items.map(({ id }) => id);
  return new EnqueueError(nothingWritten ? 'not-sent' : 'unknown', queues, ids, reason, { cause: first, items });
}

/** Returns the outcome of a job. A job that was not sent gets an id for the repeat, if it has none. */
function itemOf(outcome: PromiseSettledResult<JobHandle[]>, i: number, { target, options }: MixedJob): EnqueueItem {
  if (outcome.status === 'fulfilled') {
    const { id, outcome: answer } = outcome.value[i]!;
    return { id, outcome: answer };
  }
  const error: unknown = outcome.reason;
  if (error instanceof EnqueueError || error instanceof QueueFullError) {
    return error.items[i]!;
  }
  if (error instanceof DurabilityTimeoutError) {
    const { id, outcome: answer } = error.handles[i]!;
    return { id, outcome: answer };
  }
  return { id: options?.id ?? target.store.clock.randomId(), outcome: 'not-sent' };
}
