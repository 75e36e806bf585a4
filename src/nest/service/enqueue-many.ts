import { type JobDefinition, isJobDefinition } from '../../queue/enqueue/define-job.js';
import { storedIn } from '../../queue/enqueue/enqueue-options.js';
import { enqueueMixed, groupsOf, type MixedJob, ofCall } from '../../queue/enqueue/enqueue-mixed.js';
import { validateBulk } from '../../queue/enqueue/encode-job.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobHandle } from '../../queue/results/job-handle.js';
import type { StoredIn } from '../../queue/store/outbox-writer.js';
import { checkKnown } from '../../queue/validation/validate-options.js';
import { SpreadQueue } from '../../spread/spread-queue.js';
import {
  type EnqueueManyOptions,
  type JobOfAnyName,
  type OneOfManyOptions,
  optionsFor,
} from './enqueue-job-options.js';
import { checkJob } from './queue-choice.js';
import {
  type QueueFinder,
  refuseOwnIdOfOthers,
  ShardsOfCall,
  withShardsOfOthers,
} from '../../spread/shard-choice.js';

/** The arguments of an `enqueueMany`: jobs of one name with their array, or of several names. */
export type ManyArguments = [
  job: string | JobDefinition | readonly JobOfAnyName[],
  jobs?: readonly ({ payload: unknown } & OneOfManyOptions)[],
  options?: EnqueueManyOptions,
];

/**
 * Adds many jobs: of one name with their array, or of several names; see JobQueueService.enqueueMany.
 *
 * @throws InvalidOptionError, InvalidPayloadError, EnqueueError
 */
export async function enqueueMany(
  finder: QueueFinder,
  ...[job, jobs, options = {}]: ManyArguments
): Promise<JobHandle[]> {
  if (typeof job !== 'string' && !isJobDefinition(job)) {
    if (jobs !== undefined) {
      throw new InvalidOptionError(
        'enqueueMany',
        'a job beside its array, or an array of { job, payload, … } alone',
        show(job),
      );
    }
    return enqueueMixed(await inShards(finder, validateBulk(job)));
  }
  checkKnown('enqueueMany', options, ['queue', 'transaction', 'ordered']);
  const target = finder.find(job, options.queue);
  const checked = validateBulk(jobs!);
  const stored = storedIn('enqueueMany', options);
  if (target instanceof SpreadQueue) {
    const all = checked.map((each) => ({ ...each, job, queue: options.queue }));
    if (stored) all.forEach((each, i) => refuseOwnIdOfOthers(finder, target, byPlace(i), each));
    const mixed = await inShards(finder, all);
    return stored ? storeMixed(mixed, stored) : enqueueMixed(mixed);
  }
  const many =
    typeof job === 'string'
      ? checked.map(({ payload, ...rest }, i) => ({
          payload,
          ...optionsFor(target, job, rest, `enqueueMany[${i}]`),
        }))
      : checked;
  return target.producer.many(typeof job === 'string' ? undefined : job, many, stored);
}

/** Names a job of a call in errors, by its place. */
const byPlace = (place: number) => `enqueueMany[${place}]`;

/** Returns the jobs of a call, each with its queue or its shard. */
async function inShards(finder: QueueFinder, jobs: readonly JobOfAnyName[]): Promise<MixedJob[]> {
  const shards = new ShardsOfCall();
  const found = jobs.map(({ job, queue }, i) => {
    checkJob(`${byPlace(i)}.job`, job);
    return finder.find(job, queue);
  });
  const waits = found.some((each) => each instanceof SpreadQueue) || jobs.some(({ after }) => after !== undefined);
  const mixed: MixedJob[] = [];
  for (const [i, { job, payload, queue: _queue, ...given }] of jobs.entries()) {
    const subject = byPlace(i);
    const rest = waits ? await withShardsOfOthers(finder, found[i]!, given) : given;
    const target = shards.shardOf(found[i]!, subject, rest);
    const options = typeof job === 'string' ? optionsFor(target, job, rest, subject) : rest;
    const definition = typeof job === 'string' ? undefined : job;
    mixed.push({ subject, target, definition, payload, options });
  }
  return mixed;
}

/** Stores the jobs of a call in a transaction, shard by shard. An error rolls all back. */
async function storeMixed(jobs: readonly MixedJob[], stored: StoredIn): Promise<JobHandle[]> {
  const handles: JobHandle[] = [];
  for (const { target, definition, places } of groupsOf(jobs)) {
    const own = places.map((place) => ({ ...jobs[place]!.options, payload: jobs[place]!.payload }));
    const made = await target.producer.many(definition, own, stored).catch((error: unknown) => {
      throw ofCall(error as Error, places, jobs);
    });
    places.forEach((place, i) => (handles[place] = made[i]!));
  }
  return handles;
}
